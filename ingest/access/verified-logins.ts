import { createHmac, randomBytes } from "node:crypto";

/**
 * Credentials that were right before, as many as memory of fixed size holds: only right ones are written, so that
 * nobody without a right one can push others out.
 */
export interface VerifiedLogins {
  add(name: string, proof: string): void;
  has(name: string, proof: string): boolean;
}

const ways = 8;
/** 262,144 credentials, 2 MB. */
const usualSets = 32_768;

/** Under a keyed hash of 64 bits and its set's 15: neither names nor proofs are held. */
export function createVerifiedLogins(sets = usualSets): VerifiedLogins {
  const secret = randomBytes(32);
  const high = new Uint32Array(sets * ways);
  const low = new Uint32Array(sets * ways);
  let next = 0;

  /** Where it stands, or -1; and its hash. */
  function look(name: string, proof: string) {
    const digest = createHmac("sha256", secret).update(`${name.length} ${name}${proof}`).digest();
    const hash = { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4) };
    const first = (digest.readUInt32LE(8) % sets) * ways;
    for (let at = first; at < first + ways; at++) {
      if (high[at] === hash.high && low[at] === hash.low) return { at, first, hash };
    }
    return { at: -1, first, hash };
  }

  return {
    has: (name, proof) => look(name, proof).at >= 0,
    add: (name, proof) => {
      const { at, first, hash } = look(name, proof);
      if (at >= 0) return;
      // One after the other: those of a set are replaced in turn, more or less.
      next = (next + 1) % ways;
      high[first + next] = hash.high;
      low[first + next] = hash.low;
    },
  };
}
