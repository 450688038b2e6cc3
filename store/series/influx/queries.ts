/** The queries of a series store to InfluxDB, for one caller: only our own points are answered. */
import { StoreError } from "../../lib/errors.js";
import type { AggregateQuery, Columns, Latest, ReadRange, SeriesReader, SeriesRef } from "../series.js";
import type { InfluxClient, InfluxReader } from "./client.js";
import { aggregateArithmetic, extremesOrAll } from "./computing.js";
import { type Conflicts, mismatch } from "./conflicts.js";
import { ForeignValue } from "./csv.js";
import { fetchNewest } from "./newest.js";
import { aggregateIncrease, aggregateWindows, latestPoints, readColumns } from "./reading.js";
import { scanColumns } from "./scan.js";
import { createTypeGuard } from "./type-guard.js";

/** @param signal once aborted, queries under way end and none begins; null: the caller never cancels */
export function createInfluxReader(
  { client, bucket, conflicts }: { client: InfluxClient; bucket: string; conflicts: Conflicts },
  signal: AbortSignal | null,
): SeriesReader {
  const { named, whole, windowed } = createTypeGuard(bucket, conflicts);
  /** Each tenant has its own share of what runs at once. */
  const of = ({ tenant }: Pick<SeriesRef, "tenant">): InfluxReader => ({
    query: (flux) => client.query(flux, { tenant, signal }),
  });

  /** A number of points from one end is answered if all of them lie on this side of the nearest refused one. */
  async function read(series: SeriesRef, range: ReadRange): Promise<Columns> {
    const wanted = range.newest ?? range.oldest ?? Number.POSITIVE_INFINITY;
    const from = range.oldest === undefined ? "newest" : "oldest";
    const { start, stop, conflict } =
      wanted === Number.POSITIVE_INFINITY ? whole(series, range) : conflicts.part(series, range, from);
    const columns = await named(series, () =>
      readColumns(of(series), bucket, series, { ...range, start, stop }),
    );
    const isCut = columns.kind === "text" && columns.cut === true;
    if (conflict === undefined || isCut || columns.times.length >= wanted) return columns;
    throw mismatch(bucket, series, conflict.heldAs);
  }

  async function readNewest(
    series: readonly SeriesRef[],
    range: Pick<ReadRange, "start" | "stop" | "bytesMax">,
    newest: number,
  ): Promise<(Columns | StoreError)[]> {
    const [first] = series;
    if (first === undefined) return [];
    const parts = series.map((one) => conflicts.part(one, range, "newest"));
    // Together they share one range, none of it in a shard that must not be asked.
    const { stop = Number.POSITIVE_INFINITY } = range;
    const sound = series.filter((_, i) => parts[i]?.conflict === undefined && parts[i]?.stop === stop);
    const bySeries = await fetchNewest(of(first), bucket, sound, range, newest).catch((error: unknown) => {
      // The engine does not say which series it is.
      if (error instanceof ForeignValue) return new Map<SeriesRef, Columns | StoreError>();
      throw error;
    });
    const answers: (Columns | StoreError)[] = [];
    // Each of these is asked by itself: what can be read depends on where its points lie, or on what the engine holds.
    for (const one of series)
      answers.push(bySeries.get(one) ?? (await readOrError(one, { ...range, newest })));
    return answers;
  }

  const readOrError = (series: SeriesRef, range: ReadRange): Promise<Columns | StoreError> =>
    read(series, range).catch((error: unknown) => {
      if (error instanceof StoreError && error.code === "MISMATCH") return error;
      throw error;
    });

  async function latest(series: readonly SeriesRef[]): Promise<Latest[]> {
    const parts = series.map((one) => ({ one, ...conflicts.part(one, {}, "newest") }));
    const answers = new Map<SeriesRef, Latest>();
    for (const start of new Set(parts.map((part) => part.start))) {
      const selected = parts.filter((part) => part.start === start);
      const refs = selected.map(({ one }) => one);
      const found = await latestPoints(of(refs[0] ?? { tenant: 0 }), bucket, refs, start);
      for (const [i, { one, conflict }] of selected.entries()) {
        const unknown = conflict && { error: mismatch(bucket, one, conflict.heldAs) };
        answers.set(one, found[i] ?? unknown ?? null);
      }
    }
    return series.map((one) => answers.get(one) ?? null);
  }

  return {
    read,
    readNewest,
    scan: async function* (series, range, pointsMax) {
      const { start, stop } = whole(series, range);
      const pieces = scanColumns(of(series), bucket, series, { ...range, start, stop }, pointsMax);
      for (;;) {
        whole(series, range); // points may have been refused since the piece before
        const piece = await named(series, () => pieces.next());
        if (piece.done === true) return;
        yield piece.value;
      }
    },
    aggregate: async (query) => {
      const values = await windowed(query, (part) =>
        part.aggregate === "increase"
          ? aggregateIncrease(of(query.series), bucket, part, read)
          : aggregateWindows(of(query.series), bucket, part),
      );
      return padded(values, query);
    },
    aggregateArithmetic: async (query) => {
      const answer = await windowed(query, (part) => aggregateArithmetic(of(query.series), bucket, part));
      return answer && { ...answer, values: padded(answer.values, query) };
    },
    extremes: async (query) => {
      const { series } = query;
      const { start, stop } = whole(series, query);
      return named(series, () => extremesOrAll(of(series), bucket, { ...query, start, stop }));
    },
    latest,
  };
}

/** Adds empty windows at the end, up to as many as were asked for. */
function padded(values: readonly (number | null)[], { edges }: AggregateQuery): (number | null)[] {
  return Array.from({ length: Math.max(edges.length - 1, 0) }, (_, i) => values[i] ?? null);
}
