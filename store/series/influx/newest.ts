/** The newest points of many series of one device, by a few queries however many series there are. */
import type { StoreError } from "../../lib/errors.js";
import { textsBytes } from "../../lib/text-bytes.js";
import type { Columns, Kind, ReadRange, SeriesRef } from "../series.js";
import type { InfluxReader } from "./client.js";
import { mismatch } from "./conflicts.js";
import { createColumns, type ForeignValue, type RowSink, readFieldRows } from "./csv.js";
import { fluxFields, fluxLastOfFields } from "./flux.js";
import { influxName } from "./names.js";
import { cut, firstWidth, readTexts, toSpan, widened } from "./reading.js";
import { createTextColumns } from "./text-columns.js";
import { textsExpected, textsFirst } from "./texts.js";

/** About the rows that one query may answer: further fields go into another query. */
const rowsPerRequestMax = 1_000_000;
const fieldsPerRequestMax = 200;

/** The search for the newest points of one series. */
interface Search {
  readonly series: SeriesRef;
  /** Time of its newest point; undefined where it has none. */
  edge: number | undefined;
  /** How far back the next query reaches. */
  width: number;
  /** More than the points wanted, where several nodes have rows in one microsecond. */
  rowsMax: number;
  found: Columns | StoreError;
}

/**
 * The newest `wanted` points in the range of each series, or an error where its values are not ours; all series are of
 * one device, and none is named twice. As for one series, the range is reduced first, from the newest point in
 * widening steps: series whose newest points lie close together share queries. `bytesMax` bounds each series of
 * texts.
 */
async function newestOfFields(
  client: InfluxReader,
  bucket: string,
  series: readonly SeriesRef[],
  range: Pick<ReadRange, "start" | "stop">,
  wanted: number,
  bytesMax?: number,
): Promise<(Columns | StoreError)[]> {
  const span = toSpan(range);
  const searches = series.map((one): Search => {
    const found = createColumns(one.kind).columns();
    return { series: one, edge: undefined, width: firstWidth(wanted), rowsMax: wanted, found };
  });
  const growing: Growing = (kind) =>
    kind === "text" && bytesMax !== undefined
      ? createTextColumns({ from: "newest", bytesMax })
      : createColumns(kind);
  const answers = () => searches.map(({ found }) => found);
  if (span.start >= span.stop || wanted < 1) return answers();
  await inRequests(searches, 1, async (some) => {
    const { columns } = await ask(client, bucket, some, createLast, (refs) =>
      fluxLastOfFields(bucket, refs, span.start, span.stop),
    );
    for (const search of some) {
      search.found = columns.get(search) ?? search.found;
      if ("times" in search.found) search.edge = search.found.times.at(-1);
    }
  });
  const isOpen = (search: Search): boolean => search.edge !== undefined && "times" in search.found;
  let open = wanted === 1 ? [] : searches.filter(isOpen);
  while (open.length > 0) {
    for (const group of neighbours(open)) {
      await inRequests(group, wanted, (some) => step(client, bucket, some, span, wanted, growing));
    }
    open = open.filter(isOpen);
  }
  return answers();
}

/** One query; a search that is over loses its edge. */
async function step(
  client: InfluxReader,
  bucket: string,
  some: readonly Search[],
  span: { readonly start: number; readonly stop: number },
  wanted: number,
  growing: Growing,
): Promise<void> {
  const edges = some.map(({ edge }) => edge ?? span.start);
  const width = Math.max(...some.map((search) => search.width));
  const rowsMax = Math.max(...some.map((search) => search.rowsMax));
  const start = Math.max(span.start, Math.min(...edges) + 1 - width);
  const stop = Math.max(...edges) + 1;
  const { columns, rows } = await ask(client, bucket, some, growing, (refs) =>
    fluxFields(bucket, refs, start, stop, rowsMax),
  );
  for (const search of some) {
    const found = columns.get(search) ?? search.found;
    const isFull = "times" in found && found.times.length >= wanted;
    const isOver = !("times" in found) || isFull || (found.kind === "text" && found.cut === true);
    search.found = isFull ? cut(found, "newest", wanted) : found;
    const count = "times" in found ? found.times.length : 0;
    if (!isOver && (rows.get(search) ?? 0) >= rowsMax) search.rowsMax = rowsMax * 2;
    else if (isOver || start === span.start) search.edge = undefined;
    else search.width = widened(width, wanted, count);
  }
}

/** Groups searches whose newest points lie within one width: together they read little more than one alone. */
function neighbours(open: readonly Search[]): Search[][] {
  const groups: Search[][] = [];
  let first = Number.NEGATIVE_INFINITY;
  for (const search of open.toSorted((a, b) => (b.edge ?? 0) - (a.edge ?? 0))) {
    const edge = search.edge ?? 0;
    const group = groups.at(-1);
    if (group !== undefined && first - edge <= search.width) group.push(search);
    else {
      groups.push([search]);
      first = edge;
    }
  }
  return groups;
}

async function inRequests(
  searches: readonly Search[],
  wanted: number,
  work: (some: readonly Search[]) => Promise<void>,
): Promise<void> {
  const most = Math.max(1, Math.min(fieldsPerRequestMax, Math.floor(rowsPerRequestMax / wanted)));
  for (let from = 0; from < searches.length; from += most) await work(searches.slice(from, from + most));
}

/** Collects the rows of a series. */
type Growing = (kind: Kind) => { add: RowSink; columns(): Columns };

/**
 * Only the newest row: one query asks for it in two parts of the range, and Flux answers them in any order.
 */
function createLast(kind: Kind): ReturnType<Growing> {
  let last: { readonly time: number; readonly value: number | string } | undefined;
  const add: RowSink = (time, value) => {
    if (last === undefined || time >= last.time) last = { time, value };
  };
  const columns = (): Columns => {
    const one = createColumns(kind);
    if (last !== undefined) one.add(last.time, last.value);
    return one.columns();
  };
  return { add, columns };
}

/** The columns and the number of rows of each search; a series without rows has none. */
async function ask(
  client: InfluxReader,
  bucket: string,
  some: readonly Search[],
  growingOf: Growing,
  flux: (series: readonly SeriesRef[]) => string,
): Promise<{ columns: Map<Search, Columns | StoreError>; rows: Map<Search, number> }> {
  const byField = new Map(some.map((search) => [influxName(search.series.field), search]));
  const growing = new Map<Search, ReturnType<Growing>>();
  const foreign = new Map<Search, StoreError>();
  const rows = new Map<Search, number>();
  await readFieldRows(client.query(flux(some.map(({ series }) => series))), (field) => {
    const search = byField.get(field);
    if (search === undefined) return null;
    const { series } = search;
    const grown = growing.get(search) ?? growingOf(series.kind);
    growing.set(search, grown);
    return {
      kind: series.kind,
      onForeign: ({ heldAs }: ForeignValue) => foreign.set(search, mismatch(bucket, series, heldAs)),
      add: (time, value) => {
        rows.set(search, (rows.get(search) ?? 0) + 1);
        grown.add(time, value);
      },
    };
  });
  const columns = new Map<Search, Columns | StoreError>();
  for (const [search, grown] of growing) columns.set(search, foreign.get(search) ?? grown.columns());
  return { columns, rows };
}

/** The newest points of each series. Of texts a few come first, which show how many more fit their bytes. */
export async function fetchNewest(
  client: InfluxReader,
  bucket: string,
  series: readonly SeriesRef[],
  range: Pick<ReadRange, "start" | "stop" | "bytesMax">,
  newest: number,
): Promise<Map<SeriesRef, Columns | StoreError>> {
  const { bytesMax } = range;
  const together = async (some: readonly SeriesRef[], points: number) => {
    const found = await newestOfFields(client, bucket, some, range, points, bytesMax);
    return some.map((one, i) => [one, found[i] as Columns | StoreError] as const);
  };
  if (bytesMax === undefined || newest <= textsFirst) return new Map(await together(series, newest));
  const bySeries = new Map(
    await together(
      series.filter(({ kind }) => kind !== "text"),
      newest,
    ),
  );
  const texts = series.filter(({ kind }) => kind === "text");
  const first = await together(texts, textsFirst);
  const longer: [SeriesRef, Columns][] = [];
  for (const [one, columns] of first) {
    bySeries.set(one, columns);
    if (goesOn(columns, textsFirst)) longer.push([one, columns]);
  }
  if (longer.length === 0) return bySeries;
  // As many of each as fit where texts are longest.
  const expected = longer.map(([, { times, values }]) => {
    const bytes = textsBytes(values as readonly string[]);
    return times.length + textsExpected({ points: times.length, bytes }, bytesMax - bytes);
  });
  const points = Math.min(newest, ...expected);
  for (const [one, columns] of await together(
    longer.map(([one]) => one),
    points,
  )) {
    const wanted = { from: "newest", points: newest, bytes: bytesMax } as const;
    const isOpen = points < newest && goesOn(columns, points);
    bySeries.set(
      one,
      isOpen ? await readTexts(client, bucket, one, toSpan(range), wanted, columns) : columns,
    );
  }
  return bySeries;
}

/** Whether a read of texts has all the points it asked for, so that there may be more, and is not cut by its bytes. */
const goesOn = (columns: Columns | StoreError, points: number): columns is Columns =>
  "times" in columns && columns.kind === "text" && !columns.cut && columns.times.length === points;
