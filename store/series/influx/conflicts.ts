/** Fields that InfluxDB holds with another type than ours: who asks for them is told, not answered with nothing. */
import { StoreError } from "../../lib/errors.js";
import type { Point, RefusedPoint, SeriesRef } from "../series.js";
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
  /** A field is in conflict (null), or no more. */
  readonly onChange: (
    conflict: FieldConflict,
    ended: ConflictEnd | null,
    all: readonly FieldConflict[],
  ) => void;
}

/** A stretch of time, [start, stop) in microseconds; infinite where it is open. */
export interface ReadablePart {
  readonly start: number;
  readonly stop: number;
  /** Bounds it: beyond it our points have been refused, within the range that was asked for. */
  readonly conflict: FieldConflict | undefined;
}

export interface Conflicts {
  readonly areKnown: boolean;
  /** Learns from a batch that has been written. Costs nothing while all is well. */
  written(points: readonly Point[], refused: readonly RefusedPoint[]): Promise<void>;
  /**
   * What InfluxDB can answer of a range, from its newest or oldest point on. A question that reaches a shard of
   * another type is answered in part or not at all, so that the part never does.
   */
  part(series: SeriesRef, range: Bounds, from: "newest" | "oldest"): ReadablePart;
  /** Every point is gone, or those before `time`. */
  cleared(why: "bucket" | "retention", before?: number): Promise<void>;
  /**
   * Takes over what other processes have learnt and what was deleted, then asks `holds` of the next few whether
   * InfluxDB still has another type there. Not to be called twice at once. @throws what `holds` throws
   */
  look(holds: (conflict: FieldConflict) => Promise<boolean>): Promise<void>;
}

/** Microseconds; open where absent. */
export interface Bounds {
  readonly start?: number | undefined;
  readonly stop?: number | undefined;
}

/** InfluxDB counts shards from the year 1. */
const shardOriginMicros = -62_135_596_800 * 1e6;
/** Conflicts that one look asks about, in turn. */
const lookedAtMax = 4;

export async function openConflicts(options: ConflictsOptions): Promise<Conflicts> {
  const { ledger, shardMicros, onChange } = options;
  const known = new Map<string, FieldConflict[]>();
  const all = (): FieldConflict[] => [...known.values()].flat();
  /** Refusals so far: a look that one has overtaken ends nothing. */
  let refusals = 0;
  let lookedAt = 0;
  let changing: Promise<void> = Promise.resolve();
  for (const conflict of await ledger.conflicts()) {
    add(conflict);
    onChange(conflict, null, all());
  }

  /** Changes follow one another: the ledger and what is known here never part. */
  function inTurn(change: () => Promise<void>): Promise<void> {
    const done = changing.then(change);
    changing = done.catch(() => undefined);
    return done;
  }

  function add(conflict: FieldConflict): void {
    const others = of(conflict).filter(({ shard }) => shard !== conflict.shard);
    known.set(
      keyOf(conflict),
      [...others, conflict].sort((a, b) => a.shard - b.shard),
    );
  }

  function remove(conflict: FieldConflict, why: ConflictEnd): void {
    const left = of(conflict).filter(({ shard }) => shard !== conflict.shard);
    if (left.length === 0) known.delete(keyOf(conflict));
    else known.set(keyOf(conflict), left);
    onChange(conflict, why, all());
  }

  function of(series: Pick<SeriesRef, "productID" | "field">): readonly FieldConflict[] {
    return known.get(keyOf(series)) ?? [];
  }

  /** Of each shard the first of the refused points: a ledger is written once a shard, however many there are. */
  function firstOfShards(refused: readonly RefusedPoint[]): FieldConflict[] {
    const firsts = new Map<string, FieldConflict>();
    for (const { point, reason } of refused) {
      const heldAs = typeHeld(reason);
      if (heldAs === null) continue;
      const { productID, field } = point.series;
      const before = of(point.series).find(({ shard, stop }) => point.time >= shard && point.time < stop);
      const width = shardMicros();
      const shard = before?.shard ?? shardStart(point.time, width);
      const stop = before?.stop ?? shard + width;
      const conflict = { productID, field, shard, stop, start: point.time, heldAs };
      const first = firsts.get(shardKeyOf(conflict)) ?? before;
      if (first === undefined || point.time < first.start) firsts.set(shardKeyOf(conflict), conflict);
    }
    return [...firsts.values()];
  }

  async function begin(conflict: FieldConflict): Promise<void> {
    const isNew = of(conflict).every(({ shard }) => shard !== conflict.shard);
    await ledger.keepConflict(conflict);
    add(conflict);
    if (isNew) onChange(conflict, null, all());
  }

  async function end(conflict: FieldConflict, why: ConflictEnd): Promise<void> {
    await ledger.endConflict(conflict);
    remove(conflict, why);
  }

  function endedBy(points: readonly Point[], refused: readonly RefusedPoint[]): Set<FieldConflict> {
    const ended = new Set<FieldConflict>();
    if (known.size === 0) return ended;
    const failed = new Set(refused.map(({ point }) => point));
    for (const point of points) {
      if (failed.has(point)) continue;
      for (const one of of(point.series)) {
        if (point.time >= one.shard && point.time < one.stop) ended.add(one);
      }
    }
    return ended;
  }

  async function takeOver(): Promise<void> {
    const kept = await ledger.conflicts();
    const keys = new Set(kept.map(shardKeyOf));
    for (const one of all()) if (!keys.has(shardKeyOf(one))) remove(one, "forgotten");
    for (const one of kept) {
      const isNew = of(one).every(({ shard }) => shard !== one.shard);
      add(one);
      if (isNew) onChange(one, null, all());
    }
  }

  return {
    get areKnown() {
      return known.size > 0;
    },
    written: async (points, refused) => {
      if (known.size === 0 && refused.length === 0) return;
      refusals += refused.length;
      await inTurn(async () => {
        for (const conflict of endedBy(points, refused)) await end(conflict, "taken");
        for (const conflict of firstOfShards(refused)) await begin(conflict);
      });
    },
    part: (series, range, from) => {
      const { start = Number.NEGATIVE_INFINITY, stop: asked = Number.POSITIVE_INFINITY } = range;
      if (known.size === 0) return { start, stop: asked, conflict: undefined };
      const mine = of(series);
      // Before the first refused point of its shard nothing of ours was ever there.
      const stop = mine.find((one) => one.shard < asked && asked <= one.start)?.shard ?? asked;
      const met = mine.filter((one) => one.start < stop && one.stop > start);
      const conflict = from === "newest" ? met.at(-1) : met[0];
      if (conflict === undefined) return { start, stop, conflict };
      return from === "newest"
        ? { start: conflict.stop, stop, conflict }
        : { start, stop: conflict.shard, conflict };
    },
    cleared: (why, before = Number.POSITIVE_INFINITY) =>
      inTurn(async () => {
        for (const one of all()) if (one.stop <= before) await end(one, why);
      }),
    look: async (holds) => {
      await inTurn(takeOver);
      const everyone = all();
      const first = lookedAt < everyone.length ? lookedAt : 0;
      lookedAt = first + lookedAtMax;
      for (const one of everyone.slice(first, lookedAt)) {
        const before = refusals;
        if (await holds(one)) continue;
        await inTurn(async () => {
          const isKnown = of(one).some(({ shard }) => shard === one.shard);
          if (isKnown && refusals === before) await end(one, "gone");
        });
      }
    },
  };
}

/** A sum with the origin itself would be more than a double holds to the microsecond. */
function shardStart(time: number, width: number): number {
  const offset = (shardOriginMicros % width) + width;
  return Math.floor((time - offset) / width) * width + offset;
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

const keyOf = ({ productID, field }: Pick<SeriesRef, "productID" | "field">): string =>
  `${productID}\n${field}`;

const shardKeyOf = (conflict: Pick<FieldConflict, "productID" | "field" | "shard">): string =>
  `${keyOf(conflict)}\n${conflict.shard}`;

/** The type that a field has already; null where a point was refused for something else. */
function typeHeld(reason: string): string | null {
  if (!reason.includes("field type conflict")) return null;
  return /already exists as type (\w+)/.exec(reason)?.[1] ?? "another type";
}
