/**
 * The series store port: raw points in, columns and window aggregates out.
 *
 * Two engines implement it with the same answers: influx/open.ts (InfluxDB 2) and embedded/open.ts
 * (embedded files). Times are integer microseconds since 1970-01-01T00:00:00Z everywhere.
 */

import type { StoreError } from "../lib/errors.js";
import type { Arithmetic } from "./arithmetic.js";

/** What a series holds; fixed by its data point, never by a value (booleans are read as 1/0 by aggregates). */
export type Kind = "number" | "boolean" | "text";

/** Names one series. References are interned by the caller: the same series is the same object. */
export interface SeriesRef {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string;
  /** dataPointID, or `dataPointID~n` for the n-th data point of that name. */
  readonly field: string;
  readonly kind: Kind;
}

export interface Point {
  readonly series: SeriesRef;
  readonly time: number;
  readonly value: number | boolean | string;
  /** True when the server stamped the time: such points of different nodes never fall together. */
  readonly serverStamped: boolean;
}

/** Points of one series, ascending by time, no time twice; booleans are 1 and 0. */
export type Columns =
  | { readonly kind: "number" | "boolean"; readonly times: Float64Array; readonly values: Float64Array }
  | {
      readonly kind: "text";
      readonly times: Float64Array;
      readonly values: string[];
      /** `bytesMax` ended the read before it had as many points as were asked for: there may be more. */
      readonly cut?: boolean;
    };

export interface ReadRange {
  /** First time taken; absent: from the first point. */
  readonly start?: number;
  /** First time not taken; absent: to the last point. */
  readonly stop?: number;
  /** At most this many points: the newest of the range (still ascending). */
  readonly newest?: number;
  /** At most this many points: the oldest of the range. Not together with `newest`. */
  readonly oldest?: number;
  /**
   * With `newest` or `oldest`, for texts: a read ends with the point that brings it to so many bytes (text-bytes.ts),
   * or somewhat before, but with at least one point. Absent: no bound.
   */
  readonly bytesMax?: number;
}

/**
 * increase: the sum over the window's points of the difference to the point before (also before the window
 * and the range); after a fall the new value itself; the first stored point adds 0.
 */
export type Aggregate = "max" | "min" | "mean" | "sum" | "increase" | "first" | "last" | "count";

export interface AggregateQuery {
  readonly series: SeriesRef;
  /**
   * Ascending window edges in microseconds: window i is [edges[i], edges[i + 1]).
   * The first and the last edge clip: they need not lie on the calendar.
   */
  readonly edges: readonly number[];
  /**
   * The calendar that made the edges, so that an engine may use its own windows where they are provably the
   * same. Every inner edge is a start of `unit` in `timezone`.
   */
  readonly calendar: { readonly unit: WindowUnit; readonly timezone: string };
  readonly aggregate: Aggregate;
}

/** An aggregate over the result of arithmetic on each point. */
export interface ArithmeticQuery extends AggregateQuery {
  readonly arithmetic: Arithmetic;
}

export interface ArithmeticAnswer {
  /** One entry a window; null where no point has a result. */
  readonly values: (number | null)[];
  /** Points whose result is not a finite number; they are left out. */
  readonly errors: number;
}

export interface ExtremesQuery {
  /** A series of numbers or booleans. */
  readonly series: SeriesRef;
  readonly start: number;
  readonly stop: number;
  /** Microseconds: bucket k holds the times [k × width, (k + 1) × width). */
  readonly width: number;
  /** Up to so many points all of them are the answer. */
  readonly exactMax: number;
}

/** The newest point of a series; null where it has none; or why the engine cannot answer. */
export type Latest =
  | { readonly time: number; readonly value: number | string }
  | { readonly error: StoreError }
  | null;

export type WindowUnit = "minute" | "hour" | "day" | "week" | "month" | "year";

export interface RefusedPoint {
  readonly point: Point;
  readonly reason: string;
}

/**
 * Points as columns: point i belongs to `series[seriesAt[i]]`. `values[i]` is the number, 1 or 0 for a boolean, or
 * the index of a text in `texts`. The times are the caller's own, not server stamps. The engine takes the columns over:
 * they must not be used again.
 */
export interface SeriesPointBatch {
  readonly series: readonly SeriesRef[];
  readonly seriesAt: Int32Array;
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly texts: readonly string[];
}

/** A point of a batch that the engine will never take. */
export interface RefusedAt {
  readonly index: number;
  readonly reason: string;
}

/** Names the series of one device. */
export type DeviceKey = Pick<SeriesRef, "tenant" | "productID" | "deviceID">;
/** Names one series of every device of a product. */
export type FieldKey = Pick<SeriesRef, "tenant" | "productID" | "field">;

/** What may be asked of a store. */
export interface SeriesReader {
  read(series: SeriesRef, range: ReadRange): Promise<Columns>;
  /**
   * The newest `newest` points in the range of each of some series of one device, in the order of the series, none of
   * which may be named twice; an error for a series that the engine cannot answer. Together they cost little more than
   * one. `bytesMax` holds for each series.
   */
  readNewest(
    series: readonly SeriesRef[],
    range: Pick<ReadRange, "start" | "stop" | "bytesMax">,
    newest: number,
  ): Promise<(Columns | StoreError)[]>;
  /**
   * The points of [start, stop) in ascending pieces of about `pointsMax` points, of texts with `bytesMax` as in a read.
   * They are read as they are asked for, so that only a few pieces of any range are in memory. Points written meanwhile
   * may be missed or met. A piece belongs to its taker.
   */
  scan(
    series: SeriesRef,
    range: Pick<ReadRange, "start" | "stop" | "bytesMax">,
    pointsMax: number,
  ): AsyncGenerator<Columns>;
  /** One entry a window; null where the window has no point (for `count` as well). Booleans count as 1 and 0. */
  aggregate(query: AggregateQuery): Promise<(number | null)[]>;
  /** Null where the engine cannot compute this itself: the caller then reads the points. */
  aggregateArithmetic(query: ArithmeticQuery): Promise<ArithmeticAnswer | null>;
  /**
   * The first and the last point of the range, and of each bucket the lowest and the highest (of equal ones the
   * earlier): what a drawn line shows of any number of points. Of a range with few points all of them.
   */
  extremes(query: ExtremesQuery): Promise<Columns>;
  /** The newest point of each series, in the order asked. One that cannot be answered does not affect the others. */
  latest(series: readonly SeriesRef[]): Promise<Latest[]>;
}

/** What a removal has taken. */
export interface RemovedPoints {
  readonly points: number;
  /** The time of the oldest of them, microseconds; null without any. */
  readonly oldest: number | null;
}

export interface SeriesStore extends SeriesReader {
  /**
   * The same queries for a caller that may cancel: once the signal is aborted, those under way reject with UNAVAILABLE
   * as soon as the engine stops them, and none begins.
   */
  under(signal: AbortSignal): SeriesReader;
  /**
   * The id up to which every point of a shard's journal is settled in this store; 0 before the first. Ids of
   * batches say whose they are (store/journal/shard-ids.ts). Without `shard`: in InfluxDB of the process's first; in the
   * embedded engine, which does not know the process's shards, of the only journal that it has followed.
   * @throws StoreError INVALID without `shard` once the embedded engine has followed several journals
   */
  checkpoint(shard?: number): Promise<number>;
  /**
   * Stores a batch; later writes of the same series and time win. Resolves when the points can be read, with
   * the points that the engine will never take. `through` is the journal id that this batch completes (0: none); the
   * engine moves its checkpoint there once the points are durable. Calls may overlap (the caller bounds them);
   * the checkpoint never passes a batch that has not succeeded. `shard`: whose journal stamped the points, where
   * `through` does not say.
   * @throws StoreError UNAVAILABLE when the engine cannot take points now; nothing is lost, call again.
   */
  write(points: readonly Point[], through: number, shard?: number): Promise<RefusedPoint[]>;
  /**
   * Stores points that no journal holds, with the guarantees of `write`; they are durable after the next `flush`. Calls
   * whose points may have the same series and time must not overlap.
   * @throws StoreError UNAVAILABLE as `write` does; the batch must then be built again
   */
  writeBatch(batch: SeriesPointBatch): Promise<readonly RefusedAt[]>;
  /** Makes everything written durable and moves the checkpoint. */
  flush(): Promise<void>;
  /** The shard goes to another process: its checkpoint is saved, and read anew should it come back. */
  letGo(shard: number): Promise<void>;
  /**
   * Whether the store may hold points of each of the devices, in their order, in one query. False is certain; true
   * may also stand for points that are gone. A bounded number at once: some hundreds.
   * @throws StoreError UNAVAILABLE
   */
  whichHavePoints(devices: readonly DeviceKey[]): Promise<boolean[]>;
  /**
   * Removes every point of the devices; restartable, safe to repeat. A bounded number at once: some hundreds.
   * @throws StoreError UNAVAILABLE; some points may be gone by then
   */
  removeDevices(devices: readonly DeviceKey[]): Promise<void>;
  /** Removes every point of fields of products where the engine can; a no-op where it cannot. */
  removeFields(fields: readonly FieldKey[]): Promise<void>;
  /** Removes points older than `time`, in small steps. Null where the engine does not say what it has removed. */
  removeBefore(time: number): Promise<RemovedPoints | null>;
  /** Flushes, then releases everything. */
  close(): Promise<void>;
  /** The database files of an engine that has its own. */
  readonly files?: {
    /** Their paths. */
    list(): string[];
    /** A check has found one damaged: its sound part is kept, and the rest reported. */
    suspect(path: string, fault: string): Promise<void>;
  };
}
