/**
 * Memory of a worker thread beside what its files and columns take: Node's own bound for short-lived objects is
 * several times what a worker has of them.
 */
export const threadLimits = { maxYoungGenerationSizeMb: 8 } as const;
