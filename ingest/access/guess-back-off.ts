import { createHmac, randomBytes } from "node:crypto";
import { addressBlock } from "./address-block.js";
import { createGuessCounts, type NameHash } from "./guess-counts.js";

/** Slows down guessing: after some failures of one name from one address each further one doubles the wait. */
export interface GuessBackOff {
  /**
   * Milliseconds to wait; 0: the attempt may be made. It counts as a failure until `succeeded` says otherwise, so
   * that simultaneous attempts are counted like successive ones. No answer says whether a name exists:
   * every name that is tried is counted alike.
   */
  attempt(address: string, name: string): number;
  succeeded(address: string, name: string): void;
  /** Nobody could say whether it was right: it is taken back. */
  undecided(address: string, name: string): void;
}

const waitMsMax = 300_000;
/** 32,768 slots, 850 KB. */
const usualSets = 4096;
/** One address can use only this share of the slots. */
const shareOfAddress = 8;

/**
 * In memory of fixed size, under a keyed hash. A count that is younger than five minutes, or whose wait still runs,
 * gives way to nobody: a name that finds no slot is counted with the others of its address.
 *
 * @param monotonic milliseconds, never set
 * @param freeFailures the failure of this number is the first that costs a wait
 * @param sets of 8 names each
 */
export function createGuessBackOff(
  monotonic: () => number,
  freeFailures: number,
  sets: number = usualSets,
): GuessBackOff {
  const secret = randomBytes(32);
  const names = createGuessCounts(sets);
  const addresses = createGuessCounts(sets);
  const setsOfAddress = Math.ceil(sets / shareOfAddress);

  function hash(text: string): { set: number; name: NameHash } {
    const digest = createHmac("sha256", secret).update(text).digest();
    const name = { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4) };
    return { set: digest.readUInt32LE(8), name };
  }

  /** Where a name of an address is counted. `claims`: if it has no slot, it gets one that is free. */
  function guessPlace(address: string, name: string, claims: boolean) {
    const block = addressBlock(address);
    const whole = hash(block);
    const one = hash(`${block.length} ${block}${name}`);
    const set = (whole.set + (one.set % setsOfAddress)) % sets;
    const now = monotonic();
    const own = claims ? names.claim(set, one.name, now) : names.find(set, one.name);
    if (own >= 0) return { counts: names, at: own, isOwn: true };
    const ofAll = whole.set % sets;
    const shared = claims ? addresses.claim(ofAll, whole.name, now) : addresses.find(ofAll, whole.name);
    return { counts: addresses, at: shared, isOwn: false };
  }

  return {
    attempt: (address, name) => {
      const { counts, at } = guessPlace(address, name, true);
      // No slot even for its address: tens of thousands of other addresses guess.
      if (at < 0) return 0;
      const now = monotonic();
      const leftMs = counts.waitsUntil(at) - now;
      if (leftMs > 0) return leftMs;
      const failures = counts.failures(at) + 1;
      const waitMs = failures < freeFailures ? 0 : Math.min(1000 * 2 ** (failures - freeFailures), waitMsMax);
      counts.fail(at, now, waitMs);
      return 0;
    },
    succeeded: (address, name) => {
      const { counts, at, isOwn } = guessPlace(address, name, false);
      if (at < 0) return;
      // One right guess does not excuse what others of the address have tried.
      if (isOwn) counts.free(at);
      else counts.undo(at);
    },
    undecided: (address, name) => {
      const { counts, at } = guessPlace(address, name, false);
      if (at >= 0) counts.undo(at);
    },
  };
}
