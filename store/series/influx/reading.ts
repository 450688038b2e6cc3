/** Queries to InfluxDB and their answers as columns. */

import { StoreError } from "../../lib/errors.js";
import type { Arithmetic } from "../arithmetic.js";
import type { AggregateQuery, Columns, Latest, ReadRange, SeriesRef } from "../series.js";
import type { InfluxReader } from "./client.js";
import { mismatch } from "./conflicts.js";
import {
  checkType,
  createColumns,
  ForeignValue,
  parseJsonText,
  parseRecords,
  parseRows,
  parseTime,
  type RowSink,
  valueType,
} from "./csv.js";
import { type FluxLimit, fluxAggregate, fluxEdgePoint, fluxLatest, fluxRead, hourMicros } from "./flux.js";
import { influxName } from "./names.js";
import { createTextColumns, type TextLimit } from "./text-columns.js";
import { gatherTexts, type TextsWanted } from "./texts.js";
import { timeMax, timeMin } from "./times.js";
import { windowRuns } from "./windows.js";

type Span = { readonly start: number; readonly stop: number };

/** Parts of one request: each is compiled separately, and thousands would take seconds. */
const runsPerRequestMax = 64;
const latestPerRequestMax = 100;
const microsPerPointFirst = 1_000_000;
const widenMin = 4;
const widenMax = 64;

export async function readColumns(
  client: InfluxReader,
  bucket: string,
  series: SeriesRef,
  range: ReadRange,
): Promise<Columns> {
  const span = toSpan(range);
  if (span.start >= span.stop || range.newest === 0 || range.oldest === 0)
    return createColumns(series.kind).columns();
  const wanted = range.newest ?? range.oldest;
  if (wanted === undefined)
    return fetchColumns(client, series, fluxRead(bucket, series, span.start, span.stop));
  const from = range.newest !== undefined ? "newest" : "oldest";
  const { bytesMax } = range;
  if (series.kind !== "text" || bytesMax === undefined)
    return readEnd(client, bucket, series, span, { from, points: wanted });
  return readTexts(client, bucket, series, span, { from, points: wanted, bytes: bytesMax }, null);
}

/** @param known the first points from the end that is read, where they are known and as many as were asked for */
export function readTexts(
  client: InfluxReader,
  bucket: string,
  series: SeriesRef,
  { start, stop }: Span,
  wanted: TextsWanted,
  known: Columns | null,
): Promise<Columns> {
  const { from } = wanted;
  return gatherTexts(known, wanted, (beyond, points, bytes) => {
    const part =
      beyond === null
        ? { start, stop }
        : from === "newest"
          ? { start, stop: beyond }
          : { start: beyond + 1, stop };
    if (part.start >= part.stop) return Promise.resolve(createColumns(series.kind).columns());
    return readEnd(client, bucket, series, part, { from, points, bytes });
  });
}

/** Every aggregate but `increase`. */
export async function aggregateWindows(
  client: InfluxReader,
  bucket: string,
  query: AggregateQuery,
  arithmetic?: Arithmetic,
): Promise<(number | null)[]> {
  const { series, edges, aggregate } = query;
  const answer = new Array<number | null>(Math.max(edges.length - 1, 0)).fill(null);
  if (answer.length === 0 || series.kind === "text") return answer;
  if (aggregate === "increase") throw new RangeError("an increase is computed from points");
  const indexByEdge = new Map(edges.map((edge, i) => [edge, i]));
  const runs = windowRuns(edges).filter((run) => run.stop > timeMin && run.start < timeMax);
  for (let from = 0; from < runs.length; from += runsPerRequestMax) {
    const some = runs.slice(from, from + runsPerRequestMax);
    const flux = fluxAggregate(bucket, series, some, aggregate, arithmetic);
    await parseRows(client.query(flux), series.kind, (start, value) => {
      const index = indexByEdge.get(start) ?? (start < (edges[1] ?? 0) ? 0 : undefined);
      if (index === undefined)
        throw new StoreError("CORRUPT", `cannot aggregate: no window starts at ${start}`);
      if (typeof value === "number") answer[index] = value;
    });
  }
  return answer;
}

/**
 * The newest points from `start` on. A series that holds values of another type there is named; the others are
 * answered.
 */
export async function latestPoints(
  client: InfluxReader,
  bucket: string,
  series: readonly SeriesRef[],
  start: number,
): Promise<Latest[]> {
  const found = new Map<string, Exclude<Latest, null>>();
  for (let from = 0; from < series.length; from += latestPerRequestMax) {
    const asked = series.slice(from, from + latestPerRequestMax);
    const refs = new Map(asked.map((ref) => [seriesKey(ref), ref]));
    const flux = fluxLatest(bucket, asked, Math.max(start, timeMin));
    for (const row of parseRecords(await readResponseText(client.query(flux)))) {
      const key = [row._measurement, row.device, row._field].join("\n");
      const ref = refs.get(key);
      if (ref !== undefined) found.set(key, formatLatestQuery(bucket, ref, row));
    }
  }
  return series.map((ref) => found.get(seriesKey(ref)) ?? null);
}

function formatLatestQuery(
  bucket: string,
  series: SeriesRef,
  row: Readonly<Record<string, string>>,
): Exclude<Latest, null> {
  try {
    checkType(series.kind, row[valueType] ?? "");
    return { time: parseTime(row._time ?? ""), value: valueParsers[series.kind](row._value ?? "") };
  } catch (error) {
    if (error instanceof ForeignValue) return { error: mismatch(bucket, series, error.heldAs) };
    throw error;
  }
}

const valueParsers: Record<SeriesRef["kind"], (cell: string) => number | string> = {
  number: Number,
  boolean: (cell) => (cell === "true" ? 1 : 0),
  text: parseJsonText,
};

/**
 * Flux's tail and limit read the whole range, so the range is reduced first: from the end point, which the
 * storage engine finds at once, in widening steps until enough points are in it.
 */
async function readEnd(
  client: InfluxReader,
  bucket: string,
  series: SeriesRef,
  span: Span,
  { from, points: pointsMax, bytes }: Omit<TextsWanted, "bytes"> & { readonly bytes?: number },
): Promise<Columns> {
  const limit = bytes === undefined ? null : { from, bytesMax: bytes };
  const end =
    from === "newest"
      ? await lastPoint(client, bucket, series, span)
      : await fetchColumns(client, series, fluxEdgePoint(bucket, series, span.start, span.stop, "first"));
  const [edge] = end.times;
  if (edge === undefined || pointsMax === 1) return end;
  let rowsMax = pointsMax;
  for (let width = firstWidth(pointsMax); ; ) {
    const start = from === "newest" ? Math.max(span.start, edge + 1 - width) : span.start;
    const stop = from === "oldest" ? Math.min(span.stop, edge + width) : span.stop;
    const whole = from === "newest" ? start === span.start : stop === span.stop;
    const flux = fluxRead(bucket, series, start, stop, { from, pointsMax: rowsMax });
    const { columns, rows } = await fetchCounted(client, series, flux, limit);
    const count = columns.times.length;
    if (count >= pointsMax) return cut(columns, from, pointsMax);
    if (columns.kind === "text" && columns.cut) return columns;
    // Rows that several nodes stamped within one microsecond are one point, so more rows are needed.
    if (rows >= rowsMax) rowsMax *= 2;
    else if (whole) return columns;
    else width = widened(width, pointsMax, count);
  }
}

/** The microseconds that are searched first for so many points. */
export const firstWidth = (pointsMax: number): number => pointsMax * microsPerPointFirst;

/** The microseconds that are searched next, where `width` of them held `count` of the points wanted. */
export function widened(width: number, pointsMax: number, count: number): number {
  return Math.ceil(width * Math.min(Math.max((pointsMax / count) * 1.5, widenMin), widenMax));
}

/**
 * InfluxDB's own `last` also looks into the shard that begins where the range ends, and finds nothing at all where
 * that holds another type: then the microsecond before is asked for separately.
 */
export async function lastPoint(
  client: InfluxReader,
  bucket: string,
  series: SeriesRef,
  { start, stop }: Span,
): Promise<Columns> {
  const last = (before: number) =>
    fetchColumns(client, series, fluxEdgePoint(bucket, series, start, before, "last"));
  const found = await last(stop);
  if (found.times.length > 0 || stop % hourMicros !== 0 || stop - start < 2) return found;
  const nearest = await fetchColumns(client, series, fluxRead(bucket, series, stop - 1, stop));
  return nearest.times.length > 0 ? nearest : last(stop - 1);
}

/**
 * From the points themselves: Flux cannot express that the first point of all adds nothing. `read` finds the point
 * before the range.
 */
export async function aggregateIncrease(
  client: InfluxReader,
  bucket: string,
  { series, edges }: AggregateQuery,
  read: (series: SeriesRef, range: ReadRange) => Promise<Columns>,
): Promise<(number | null)[]> {
  const answer = new Array<number | null>(Math.max(edges.length - 1, 0)).fill(null);
  if (answer.length === 0 || series.kind === "text") return answer;
  const [start = 0] = edges;
  const span = toSpan({ start, stop: edges[edges.length - 1] ?? start });
  const earlier = await read(series, { stop: start, newest: 1 });
  let before = earlier.kind === "text" ? undefined : earlier.values[0];
  let index = 0;
  if (span.start >= span.stop) return answer;
  let lastTime = Number.NEGATIVE_INFINITY;
  let pending: number | undefined;
  const settle = () => {
    if (pending === undefined) return;
    while (lastTime >= (edges[index + 1] ?? Number.POSITIVE_INFINITY)) index += 1;
    const step = before === undefined ? 0 : pending < before ? pending : pending - before;
    answer[index] = (answer[index] ?? 0) + step;
    before = pending;
  };
  await parseRows(
    client.query(fluxRead(bucket, series, span.start, span.stop)),
    series.kind,
    (time, value) => {
      if (time !== lastTime) settle();
      lastTime = time;
      pending = Number(value);
    },
  );
  settle();
  return answer;
}

async function fetchColumns(client: InfluxReader, series: SeriesRef, flux: string): Promise<Columns> {
  return (await fetchCounted(client, series, flux)).columns;
}

export async function fetchCounted(
  client: InfluxReader,
  series: SeriesRef,
  flux: string,
  limit: TextLimit | null = null,
): Promise<{ columns: Columns; rows: number }> {
  const { add, columns, isFull } = limit === null ? createColumns(series.kind) : createTextColumns(limit);
  let rows = 0;
  const sink: RowSink = (time, value) => {
    rows += 1;
    add(time, value);
  };
  await parseRows(client.query(flux), series.kind, sink, isFull);
  return { columns: columns(), rows };
}

export function cut(columns: Columns, from: FluxLimit["from"], pointsMax: number): Columns {
  const count = columns.times.length;
  const [start, stop] = from === "newest" ? [count - pointsMax, count] : [0, pointsMax];
  const times = columns.times.slice(start, stop);
  return columns.kind === "text"
    ? { kind: columns.kind, times, values: columns.values.slice(start, stop) }
    : { kind: columns.kind, times, values: columns.values.slice(start, stop) };
}

export function toSpan({ start = timeMin, stop = timeMax + 1 }: ReadRange): Span {
  return { start: Math.max(start, timeMin), stop: Math.min(stop, timeMax + 1) };
}

function seriesKey({ productID, deviceID, field }: SeriesRef): string {
  return [productID, deviceID, field].map(influxName).join("\n");
}

export async function readResponseText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString("utf8");
}
