/** A fixed number of slots for the counts of failed attempts, so that memory does not grow. */
interface GuessCounts {
  /** The slot of a name in a set; -1 if it has none. */
  find(set: number, name: NameHash): number;
  /** Its slot, or a new one in that set; -1 if every other one is in use. */
  claim(set: number, name: NameHash, now: number): number;
  /** Counts a failed attempt, which lasts for `waitMs`. */
  fail(slot: number, now: number, waitMs: number): void;
  /** Takes one back. */
  undo(slot: number): void;
  free(slot: number): void;
  failures(slot: number): number;
  /** When its wait ends; milliseconds, monotonic. */
  waitsUntil(slot: number): number;
}

/** 64 bits of a keyed hash of a name. */
export interface NameHash {
  readonly high: number;
  readonly low: number;
}

/** Slots of a set: as many names whose hashes meet there. */
const ways = 8;
/** A count is not given up for another's before it has rested for so long. */
const retentionMs = 300_000;
const failuresMax = 65_535;

/** @param sets each of 8 slots of 26 bytes */
export function createGuessCounts(sets: number): GuessCounts {
  const slots = sets * ways;
  const high = new Uint32Array(slots);
  const low = new Uint32Array(slots);
  const failures = new Uint16Array(slots);
  const waitsUntil = new Float64Array(slots);
  /** The time of the last attempt; negative infinity for a free slot. */
  const failedAt = new Float64Array(slots).fill(Number.NEGATIVE_INFINITY);

  function find(set: number, name: NameHash): number {
    for (let at = set * ways; at < (set + 1) * ways; at++) {
      if (high[at] === name.high && low[at] === name.low && isTaken(at)) return at;
    }
    return -1;
  }

  const isTaken = (at: number): boolean => failedAt[at] !== Number.NEGATIVE_INFINITY;

  /** The slot that has rested longest, of those that have rested long enough. */
  function freed(set: number, now: number): number {
    let found = -1;
    for (let at = set * ways; at < (set + 1) * ways; at++) {
      const rests = now >= (waitsUntil[at] as number) && now - (failedAt[at] as number) >= retentionMs;
      if (rests && (found < 0 || (failedAt[at] as number) < (failedAt[found] as number))) found = at;
    }
    return found;
  }

  function free(at: number): void {
    failures[at] = 0;
    waitsUntil[at] = 0;
    failedAt[at] = Number.NEGATIVE_INFINITY;
  }

  return {
    find,
    claim: (set, name, now) => {
      const known = find(set, name);
      if (known >= 0) return known;
      const at = freed(set, now);
      if (at < 0) return at;
      free(at);
      high[at] = name.high;
      low[at] = name.low;
      failedAt[at] = now;
      return at;
    },
    fail: (at, now, waitMs) => {
      failures[at] = Math.min((failures[at] as number) + 1, failuresMax);
      waitsUntil[at] = now + waitMs;
      failedAt[at] = now;
    },
    undo: (at) => {
      failures[at] = Math.max((failures[at] as number) - 1, 0);
      waitsUntil[at] = 0;
    },
    free,
    failures: (at) => failures[at] as number,
    waitsUntil: (at) => waitsUntil[at] as number,
  };
}
