/**
 * Fields that InfluxDB holds with another type than ours: a query about them fails with the reason, instead of
 * finding nothing.
 */
import { StoreError } from "../../lib/errors.js";
import { createLock } from "../../lib/scheduling.js";
import type { Point, RefusedPoint, SeriesRef } from "../series.js";
import {
  type Bounds,
  createConflictRegister,
  formatShardKey,
  type ReadablePart,
} from "./conflict-register.js";
import type { FieldConflict, InfluxLedger } from "./ledger.js";

/** Why a conflict is over. */
export type ConflictEnd =
  | "taken" // a point of ours has been taken there
  | "gone" // what something else had written is no longer there
  | "bucket" // the bucket has been made again, empty
  | "retention" // its time is past the points' retention
  | "forgotten"; // its data point has been deleted, or another process has seen its end

export interface ConflictsOptions {
  readonly bucket: string;
  readonly ledger: InfluxLedger;
  /** The length of a shard, microseconds. */
  readonly shardMicros: () => number;
  /** A field is in conflict (null), or no longer. */
  readonly onChange: (
    conflict: FieldConflict,
    ended: ConflictEnd | null,
    all: readonly FieldConflict[],
  ) => void;
}

export interface Conflicts {
  readonly areKnown: boolean;
  /** Learns from a batch that has been written; costs nothing while there are no conflicts. */
  written(points: readonly Point[], refused: readonly RefusedPoint[]): Promise<void>;
  /**
   * What InfluxDB can answer of a range, from its newest or its oldest end on. It never reaches into a shard of another
   * type, where InfluxDB would answer in part or not at all.
   */
  part(series: SeriesRef, range: Bounds, from: "newest" | "oldest"): ReadablePart;
  /** Every point is gone, or every one before the time. */
  cleared(why: "bucket" | "retention", before?: number): Promise<void>;
  /**
   * Takes over what other processes have learnt and what was deleted, then asks `holds` of the next few whether
   * InfluxDB still has another type there. Not to be called twice at once. @throws what `holds` throws
   */
  look(holds: (conflict: FieldConflict) => Promise<boolean>): Promise<void>;
}

/** Conflicts that one look asks about, in turn. */
const lookedAtMax = 4;

export async function openConflicts(options: ConflictsOptions): Promise<Conflicts> {
  const { ledger, shardMicros, onChange } = options;
  const known = createConflictRegister();
  /** Refusals so far: a look that was overtaken by one ends no conflict. */
  let refusals = 0;
  let lookedAt = 0;
  /** Changes follow one another, so that ledger and register stay the same. */
  const inTurn = createLock();
  for (const conflict of await ledger.conflicts()) reportConflict(conflict);

  /** Adds a conflict; only a new one is reported. */
  function reportConflict(conflict: FieldConflict): void {
    const isNew = !known.has(conflict);
    known.add(conflict);
    if (isNew) onChange(conflict, null, known.all());
  }

  function remove(conflict: FieldConflict, why: ConflictEnd): void {
    known.remove(conflict);
    onChange(conflict, why, known.all());
  }

  async function begin(conflict: FieldConflict): Promise<void> {
    await ledger.keepConflict(conflict);
    reportConflict(conflict);
  }

  async function end(conflict: FieldConflict, why: ConflictEnd): Promise<void> {
    await ledger.endConflict(conflict);
    remove(conflict, why);
  }

  async function takeOver(): Promise<void> {
    const kept = await ledger.conflicts();
    const keys = new Set(kept.map(formatShardKey));
    for (const one of known.all()) if (!keys.has(formatShardKey(one))) remove(one, "forgotten");
    for (const one of kept) reportConflict(one);
  }

  return {
    get areKnown() {
      return known.size > 0;
    },
    written: async (points, refused) => {
      if (known.size === 0 && refused.length === 0) return;
      refusals += refused.length;
      await inTurn(async () => {
        for (const conflict of known.endedBy(points, refused)) await end(conflict, "taken");
        for (const conflict of known.firstOfShards(refused, shardMicros())) await begin(conflict);
      });
    },
    part: known.part,
    cleared: (why, before = Number.POSITIVE_INFINITY) =>
      inTurn(async () => {
        for (const one of known.all()) if (one.stop <= before) await end(one, why);
      }),
    look: async (holds) => {
      await inTurn(takeOver);
      const everyone = known.all();
      const first = lookedAt < everyone.length ? lookedAt : 0;
      lookedAt = first + lookedAtMax;
      for (const one of everyone.slice(first, lookedAt)) {
        const before = refusals;
        if (await holds(one)) continue;
        await inTurn(async () => {
          if (known.has(one) && refusals === before) await end(one, "gone");
        });
      }
    },
  };
}

export function mismatch(
  bucket: string,
  { productID, field }: Pick<SeriesRef, "productID" | "field">,
  heldAs: string,
): StoreError {
  const what = `values of type ${heldAs} in field "${field}" of measurement "${productID}"`;
  const text = `InfluxDB's bucket "${bucket}" holds ${what} that something else has written`;
  return new StoreError("MISMATCH", `cannot answer for "${field}": ${text}`, { [field]: text });
}
