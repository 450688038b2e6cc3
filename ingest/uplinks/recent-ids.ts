import { createHash } from "node:crypto";

/**
 * The last ids of one device, each with a small number, in eight bytes and two: a hash of 64 bits stands for an id.
 * Among a thousand the chance that two meet is below 10^-13.
 */
export interface RecentIDs {
  /** The value that was noted with the id, from 0 to 65,535; undefined for an id that is not among them. */
  get(id: string): number | undefined;
  /** The oldest goes when there are too many. */
  add(id: string, value?: number): void;
}

/** Ids of a device that are remembered; fewer while its tenant's share is used up. */
export const recentIDsMax = 1000;
const bytesEach = 10;
const atFirst = 16;

/** @param mayGrow takes this many more bytes of the budget; false if that is used up */
export function createRecentIDs(mayGrow: (bytes: number) => boolean): RecentIDs {
  let hashes = new BigUint64Array(atFirst);
  let values = new Uint16Array(hashes.length);
  let size = 0;
  /** Where the next one goes, once all places are taken. */
  let next = 0;

  function grow(): void {
    const places = Math.min(recentIDsMax, hashes.length * 2);
    if (!mayGrow((places - hashes.length) * bytesEach)) return;
    const [moreHashes, moreValues] = [new BigUint64Array(places), new Uint16Array(places)];
    moreHashes.set(hashes);
    moreValues.set(values);
    hashes = moreHashes;
    values = moreValues;
  }

  function find(id: string): number {
    const at = hashes.indexOf(hashID(id));
    return at < size ? at : -1;
  }

  return {
    get: (id) => {
      const at = find(id);
      return at < 0 ? undefined : values[at];
    },
    add: (id, value = 0) => {
      // Once the oldest are overwritten, their order would not survive a growth.
      if (size === hashes.length && size < recentIDsMax && next === 0) grow();
      const at = size < hashes.length ? size++ : next++ % size;
      hashes[at] = hashID(id);
      values[at] = value;
    },
  };
}

/** No id has this hash. */
const none = 0n;

function hashID(id: string): bigint {
  const hash = createHash("sha256").update(id).digest().readBigUInt64LE(0);
  return hash === none ? 1n : hash;
}
