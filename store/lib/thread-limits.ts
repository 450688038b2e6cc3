/**
 * Memory of a worker thread besides that of its files and columns: Node's default bound for short-lived objects is
 * several times what a worker needs.
 */
export const threadLimits = { maxYoungGenerationSizeMb: 8 } as const;
