/** Repeatable chance: the same seed draws the same cases on every machine. */
export interface Random {
  /** A whole number from 0 to `count` - 1. */
  below(count: number): number;
  /** True once in so many times. */
  once(inSoMany: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Between `least` and `most` results of `make`. */
  some<T>(least: number, most: number, make: (i: number) => T): T[];
}

/** Mulberry32: its 32 bits of state are the seed, and neighbouring seeds share nothing. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const below = (count: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count);
  };
  return {
    below,
    once: (inSoMany) => below(inSoMany) === 0,
    pick: (from) => {
      if (from.length === 0) throw new Error("cannot pick from nothing");
      return from[below(from.length)] as never;
    },
    some: (least, most, make) => Array.from({ length: least + below(most - least + 1) }, (_, i) => make(i)),
  };
}
