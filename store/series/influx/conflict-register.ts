/**
 * The fields that InfluxDB is known to hold with another type, by series and shard, and what can still be read.
 */

import type { Point, RefusedPoint, SeriesRef } from "../series.js";
import type { FieldConflict } from "./ledger.js";

/** A stretch of time, [start, stop) in microseconds; an open end is infinite. */
export interface ReadablePart {
  readonly start: number;
  readonly stop: number;
  /** The conflict that ends it: within the range that was asked for, our points beyond it were refused. */
  readonly conflict: FieldConflict | undefined;
}

/** Microseconds; open where absent. */
export interface Bounds {
  readonly start?: number | undefined;
  readonly stop?: number | undefined;
}

interface ConflictRegister {
  readonly size: number;
  all(): FieldConflict[];
  /** Whether a conflict of this field in this shard is known. */
  has(conflict: FieldConflict): boolean;
  /** Replaces one of the same field and shard. */
  add(conflict: FieldConflict): void;
  remove(conflict: FieldConflict): void;
  /** The conflicts in whose shards a point has now been taken. */
  endedBy(points: readonly Point[], refused: readonly RefusedPoint[]): Set<FieldConflict>;
  /**
   * The first refused point of each shard: the ledger is written once a shard, however many points there are.
   * @param width of a shard, microseconds
   */
  firstOfShards(refused: readonly RefusedPoint[], width: number): FieldConflict[];
  /** The stretch of a range that can be read, from its newest or its oldest end on. */
  part(series: SeriesRef, range: Bounds, from: "newest" | "oldest"): ReadablePart;
}

/** InfluxDB counts shards from the year 1. */
const shardOriginMicros = -62_135_596_800 * 1e6;

export function createConflictRegister(): ConflictRegister {
  /** By field, in the order of the shards; no list is empty. */
  const known = new Map<string, FieldConflict[]>();

  const of = (series: Pick<SeriesRef, "productID" | "field">): readonly FieldConflict[] =>
    known.get(formatKey(series)) ?? [];
  const others = (conflict: FieldConflict): FieldConflict[] =>
    of(conflict).filter(({ shard }) => shard !== conflict.shard);

  return {
    get size() {
      return known.size;
    },
    all: () => [...known.values()].flat(),
    has: (conflict) => of(conflict).some(({ shard }) => shard === conflict.shard),
    add: (conflict) => {
      known.set(
        formatKey(conflict),
        [...others(conflict), conflict].sort((a, b) => a.shard - b.shard),
      );
    },
    remove: (conflict) => {
      const left = others(conflict);
      if (left.length === 0) known.delete(formatKey(conflict));
      else known.set(formatKey(conflict), left);
    },
    endedBy: (points, refused) => {
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
    },
    firstOfShards: (refused, width) => {
      const firsts = new Map<string, FieldConflict>();
      for (const { point, reason } of refused) {
        const heldAs = typeHeld(reason);
        if (heldAs === null) continue;
        const { productID, field } = point.series;
        const before = of(point.series).find(({ shard, stop }) => point.time >= shard && point.time < stop);
        const shard = before?.shard ?? shardStart(point.time, width);
        const stop = before?.stop ?? shard + width;
        const conflict = { productID, field, shard, stop, start: point.time, heldAs };
        const first = firsts.get(formatShardKey(conflict)) ?? before;
        if (first === undefined || point.time < first.start) firsts.set(formatShardKey(conflict), conflict);
      }
      return [...firsts.values()];
    },
    part: (series, range, from) => {
      const { start = Number.NEGATIVE_INFINITY, stop: asked = Number.POSITIVE_INFINITY } = range;
      if (known.size === 0) return { start, stop: asked, conflict: undefined };
      const mine = of(series);
      // Before the first refused point, the shard never held a point of ours.
      const stop = mine.find((one) => one.shard < asked && asked <= one.start)?.shard ?? asked;
      const met = mine.filter((one) => one.start < stop && one.stop > start);
      const conflict = from === "newest" ? met.at(-1) : met[0];
      if (conflict === undefined) return { start, stop, conflict };
      return from === "newest"
        ? { start: conflict.stop, stop, conflict }
        : { start, stop: conflict.shard, conflict };
    },
  };
}

/** The origin itself is left out of the sum, which a double could not hold to the microsecond. */
function shardStart(time: number, width: number): number {
  const offset = (shardOriginMicros % width) + width;
  return Math.floor((time - offset) / width) * width + offset;
}

const formatKey = ({ productID, field }: Pick<SeriesRef, "productID" | "field">): string =>
  `${productID}\n${field}`;

export const formatShardKey = (conflict: Pick<FieldConflict, "productID" | "field" | "shard">): string =>
  `${formatKey(conflict)}\n${conflict.shard}`;

/** The type that a field already has; null where a point was refused for another reason. */
function typeHeld(reason: string): string | null {
  if (!reason.includes("field type conflict")) return null;
  return /already exists as type (\w+)/.exec(reason)?.[1] ?? "another type";
}
