/**
 * Memory of a worker thread beside what its files and columns take. The young generation of the main thread is
 * worth its size; a worker would take as much and hardly use it.
 */
export const threadLimits = { maxYoungGenerationSizeMb: 8 } as const;
