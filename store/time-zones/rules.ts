import { createHash } from "node:crypto";

/** The offsets of one time zone from the beginning of time to the end of `lastYear`. */
export interface ZoneRules {
  /** As the IANA database spells it, or `±HH:MM`. */
  readonly name: string;
  /** When the offset changes: seconds since 1970, ascending. */
  readonly changes: Float64Array;
  /** Seconds ahead of UTC: one before the first change, then one from each change on. */
  readonly offsets: Int32Array;
}

/** Recurring rules are written out up to here; points end in 2255. */
export const lastYear = 2499;

/** A change of the offset, or of no more than the abbreviation. Seconds. */
export interface Transition {
  readonly at: number;
  readonly offset: number;
}

/**
 * Leaves out transitions that keep the offset; of several at one instant the last holds.
 * @param first the offset before all of them
 */
export function createRules(name: string, first: number, transitions: Iterable<Transition>): ZoneRules {
  const changes: number[] = [];
  const offsets = [first];
  for (const { at, offset } of transitions) {
    if (at === changes.at(-1)) {
      changes.pop();
      offsets.pop();
    }
    if (offset === offsets.at(-1)) continue;
    changes.push(at);
    offsets.push(offset);
  }
  return { name, changes: Float64Array.from(changes), offsets: Int32Array.from(offsets) };
}

/** Short, and the same for the same offsets: by it a plan knows whether the rules have changed. */
export function computeRulesFingerprint({ changes, offsets }: ZoneRules): string {
  const hash = createHash("sha256").update(String(changes)).update(String(offsets));
  return hash.digest("base64url").slice(0, 16);
}

const offsetForm = /^([+-])([01]\d|2[0-3]):([0-5]\d)$/;

/** The rules of `±HH:MM`; undefined for any other name. */
export function fixedRules(name: string): ZoneRules | undefined {
  const [, sign, hours, minutes] = offsetForm.exec(name) ?? [];
  if (sign === undefined) return undefined;
  const seconds = Number(hours) * 3600 + Number(minutes) * 60;
  return createRules(name, sign === "-" ? -seconds : seconds, []);
}
