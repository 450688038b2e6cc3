import type { ImportTarget } from "./row-taker.js";

const slots = 1 << 16;

interface Entry {
  /** The first range's bytes, then the second's. */
  readonly key: Uint8Array;
  readonly firstLength: number;
  readonly salt: number;
  readonly target: ImportTarget;
}

/**
 * The recently met targets by the bytes that name them: a repeated name costs a few comparisons and no
 * string. Each slot holds the last of the names that hash to it.
 */
interface TargetCache {
  /** Finds the target that two ranges of bytes and a number name; undefined if it is not cached. */
  find(
    bytes: Buffer,
    start: number,
    end: number,
    start2: number,
    end2: number,
    salt: number,
  ): ImportTarget | undefined;
  /** Caches the target of the ranges that were looked for last. */
  keep(
    bytes: Buffer,
    start: number,
    end: number,
    start2: number,
    end2: number,
    salt: number,
    target: ImportTarget,
  ): void;
  clear(): void;
}

export function createTargetCache(): TargetCache {
  let entries: (Entry | undefined)[] = new Array<Entry | undefined>(slots).fill(undefined);

  /** FNV-1a. */
  function computeSlot(
    bytes: Buffer,
    start: number,
    end: number,
    start2: number,
    end2: number,
    salt: number,
  ): number {
    let hash = 0x811c9dc5 ^ salt;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
    for (let at = start2; at < end2; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
    return (hash ^ (hash >>> 16)) & (slots - 1);
  }

  return {
    find: (bytes, start, end, start2, end2, salt) => {
      const entry = entries[computeSlot(bytes, start, end, start2, end2, salt)];
      if (entry === undefined || entry.salt !== salt) return undefined;
      const { key, firstLength } = entry;
      if (end - start !== firstLength || firstLength + end2 - start2 !== key.length) return undefined;
      for (let i = 0; i < firstLength; i++) if (key[i] !== bytes[start + i]) return undefined;
      for (let i = firstLength; i < key.length; i++) {
        if (key[i] !== bytes[start2 + i - firstLength]) return undefined;
      }
      return entry.target;
    },
    keep: (bytes, start, end, start2, end2, salt, target) => {
      const key = Uint8Array.from([...bytes.subarray(start, end), ...bytes.subarray(start2, end2)]);
      entries[computeSlot(bytes, start, end, start2, end2, salt)] = {
        key,
        firstLength: end - start,
        salt,
        target,
      };
    },
    clear: () => {
      entries = new Array<Entry | undefined>(slots).fill(undefined);
    },
  };
}
