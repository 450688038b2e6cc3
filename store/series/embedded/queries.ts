/** Answers the queries of one caller: the writer says what is in memory, a reader adds the files. */

import { StoreError } from "../../lib/errors.js";
import type { Arithmetic } from "../arithmetic.js";
import type { QuerySemaphore } from "../query-semaphore.js";
import type {
  AggregateQuery,
  ArithmeticAnswer,
  Columns,
  ExtremesQuery,
  ReadRange,
  SeriesReader,
  SeriesRef,
} from "../series.js";
import { type CancelFlag, runCancellable, throwIfCancelled } from "./cancellation.js";
import { emptyRun, type Run } from "./columns.js";
import type { Handles } from "./handles.js";
import type { FindAnswer, LastPoint, ReaderCalls, SeriesInFiles, WriterCalls } from "./protocol.js";
import type { Readers } from "./readers.js";

interface ReaderDeps {
  readonly handles: Handles;
  /** A call of the writer. */
  ask<N extends "find" | "findLast">(
    name: N,
    args: WriterCalls[N]["args"],
  ): Promise<WriterCalls[N]["answer"]>;
  readonly readers: Pick<Readers, "call">;
  /** Admits queries to the writer and the readers. */
  readonly semaphore: QuerySemaphore;
}

/** Reads of one caller at once, so that others need not wait for more. */
const readsAtOnce = 4;

/** Queries admitted at once for each reader thread: one is worked on, another is ready. */
export const queriesPerReader = 2;

/**
 * A query is admitted before the writer names its files, so that it then goes to a reader at once: a reader answers
 * in order, and releases a removed file only after the queries that were sent before.
 *
 * @param signal aborted once the caller has cancelled, after which no query begins; null: the caller never cancels
 */
export function createLibsqlReader(
  { handles, ask, readers, semaphore }: ReaderDeps,
  signal: AbortSignal | null,
): SeriesReader {
  const inTurn = <T>(
    { tenant }: Pick<SeriesRef, "tenant">,
    work: (left: CancelFlag | null) => Promise<T>,
  ): Promise<T> => semaphore.run({ tenant, signal }, () => runCancellable(signal, work));

  /** Waits for admission, then answers from what the writer has found of a series. */
  const find = <T>(
    series: SeriesRef,
    args: WriterCalls["find"]["args"],
    answer: (found: FindAnswer, inFiles: SeriesInFiles) => Promise<T>,
  ): Promise<T> =>
    inTurn(series, async (left) => {
      throwIfCancelled(left);
      const found = await ask("find", args);
      throwIfCancelled(left);
      return answer(found, toSeriesInFiles(series, found, left));
    });

  async function read(series: SeriesRef, range: ReadRange): Promise<Columns> {
    const handle = handles.of(series);
    if (handle < 0) return asColumns(series, emptyRun(series.kind === "text"));
    return find(series, { handle, range, before: false }, async ({ memory, parts }, inFiles) => {
      if (parts.length === 0) return asColumns(series, memory ?? emptyRun(inFiles.text));
      const asked = { ...inFiles, range };
      return asColumns(series, await readers.call("read", asked, { transfer: listBuffers(memory) }));
    });
  }

  async function aggregate(
    query: AggregateQuery,
    arithmetic: Arithmetic | null,
  ): Promise<ArithmeticAnswer | null> {
    const { series, edges } = query;
    const [start, stop] = [edges[0], edges.at(-1)];
    if (start === undefined || stop === undefined || edges.length < 2) return { values: [], errors: 0 };
    checkAggregate(query);
    const handle = handles.of(series);
    if (handle < 0) return { values: edges.slice(1).map(() => null), errors: 0 };
    const args = { handle, range: { start, stop }, before: query.aggregate === "increase" };
    return find(series, args, (found, inFiles) => {
      const asked = aggregateArgs(query, arithmetic, found, inFiles);
      return readers.call("aggregate", asked, { transfer: listBuffers(found.memory) });
    });
  }

  async function extremes({ series, ...query }: ExtremesQuery): Promise<Columns> {
    const handle = handles.of(series);
    if (handle < 0) return asColumns(series, emptyRun(false));
    const { start, stop } = query;
    return find(series, { handle, range: { start, stop }, before: false }, async ({ memory }, inFiles) => {
      const asked = { ...inFiles, ...query };
      return asColumns(series, await readers.call("extremes", asked, { transfer: listBuffers(memory) }));
    });
  }

  async function latest(series: readonly SeriesRef[]): Promise<(LastPoint | null)[]> {
    const [first] = series;
    if (first === undefined) return [];
    return inTurn(first, async (left) => {
      throwIfCancelled(left);
      const asked = series
        .map((ref) => ({ ref, handle: handles.of(ref) }))
        .filter(({ handle }) => handle >= 0);
      const { ids, memory, floor, parts } = await ask(
        "findLast",
        Int32Array.from(asked, ({ handle }) => handle),
      );
      throwIfCancelled(left);
      const texts = asked.map(({ ref }) => ref.kind === "text");
      const stored = parts.length > 0 ? await readers.call("latest", { ids, texts, parts, floor, left }) : [];
      const points = new Map(asked.map(({ ref }, i) => [ref, newer(stored[i] ?? null, memory[i] ?? null)]));
      return series.map((ref) => points.get(ref) ?? null);
    });
  }

  return {
    read,
    readNewest: (series, range, newest) => readSome(read, series, { ...range, newest }),
    scan: (series, range, pointsMax) => readInPieces(read, series, range, pointsMax),
    aggregate: async (query) => {
      const answer = await aggregate(query, null);
      if (answer === null) throw new StoreError("CORRUPT", "cannot aggregate: values without arithmetic");
      return answer.values;
    },
    aggregateArithmetic: (query) => aggregate(query, query.arithmetic),
    extremes,
    latest,
  };
}

const toSeriesInFiles = (
  { kind }: SeriesRef,
  { id, memory, floor, parts }: FindAnswer,
  left: CancelFlag | null,
): SeriesInFiles => ({ id, text: kind === "text", memory, floor, parts, left });

/** @throws StoreError INVALID */
function checkAggregate({ series, aggregate }: AggregateQuery): void {
  if (series.kind !== "text" || aggregate === "count") return;
  throw new StoreError("INVALID", `cannot aggregate ${series.field}: ${aggregate} of text`);
}

/** The writer names the parts before the range as well where the point before it is asked for. */
function aggregateArgs(
  { edges, aggregate }: AggregateQuery,
  arithmetic: Arithmetic | null,
  { parts, before }: FindAnswer,
  inFiles: SeriesInFiles,
): ReaderCalls["aggregate"]["args"] {
  const start = edges[0] ?? 0;
  return {
    ...inFiles,
    parts: parts.filter((part) => part.stop > start),
    edges: Float64Array.from(edges),
    aggregate,
    arithmetic,
    before,
    earlier: aggregate === "increase" ? parts.filter((part) => part.start < start) : [],
  };
}

/** The same range of several series, a few at a time. */
async function readSome(
  read: (series: SeriesRef, range: ReadRange) => Promise<Columns>,
  series: readonly SeriesRef[],
  range: ReadRange,
): Promise<Columns[]> {
  const answers: Columns[] = [];
  for (let from = 0; from < series.length; from += readsAtOnce) {
    const some = series.slice(from, from + readsAtOnce);
    answers.push(...(await Promise.all(some.map((one) => read(one, range)))));
  }
  return answers;
}

/** Reads the oldest points again and again, each time from where the piece before ended. */
async function* readInPieces(
  read: (series: SeriesRef, range: ReadRange) => Promise<Columns>,
  series: SeriesRef,
  { start, ...end }: Pick<ReadRange, "start" | "stop" | "bytesMax">,
  pointsMax: number,
): AsyncGenerator<Columns> {
  for (let from = start; ; ) {
    const piece = await read(series, {
      ...(from === undefined ? {} : { start: from }),
      ...end,
      oldest: pointsMax,
    });
    const last = piece.times.at(-1);
    if (last === undefined) return;
    // The taker of a piece may move its memory to another thread.
    const isLast = piece.times.length < pointsMax && !(piece.kind === "text" && piece.cut);
    yield piece;
    if (isLast) return;
    from = last + 1;
  }
}

const listBuffers = (run: Run | null): ArrayBuffer[] => {
  if (run === null) return [];
  const columns = Array.isArray(run.values) ? [run.times] : [run.times, run.values];
  return [...new Set(columns.map((column) => column.buffer as ArrayBuffer))];
};

/** Memory wins at equal times: it is what was written last. */
function newer(stored: LastPoint | null, memory: LastPoint | null): LastPoint | null {
  return stored !== null && (memory === null || stored.time > memory.time) ? stored : memory;
}

function asColumns({ kind }: SeriesRef, { times, values, cut = false }: Run): Columns {
  if (kind === "text") {
    const texts = Array.isArray(values) ? values : [];
    return cut ? { kind, times, values: texts, cut } : { kind, times, values: texts };
  }
  return { kind, times, values: Array.isArray(values) ? new Float64Array(0) : values };
}
