/** The questions of a series store to InfluxDB, for one asker: nobody is answered with what is not ours. */
import { StoreError } from "../../lib/errors.js";
import { textsBytes } from "../../lib/text-bytes.js";
import type { AggregateQuery, Columns, Latest, ReadRange, SeriesQuestions, SeriesRef } from "../series.js";
import type { InfluxClient, Questioner } from "./client.js";
import { aggregateArithmetic, readExtremes } from "./computing.js";
import { type Bounds, type Conflicts, mismatch, type ReadablePart } from "./conflicts.js";
import { ForeignValue } from "./csv.js";
import { newestOfFields } from "./newest.js";
import {
  aggregateIncrease,
  aggregateWindows,
  latestPoints,
  readColumns,
  readTexts,
  spanOf,
} from "./reading.js";
import { scanColumns } from "./scan.js";
import { textsExpected, textsFirst } from "./texts.js";

/** @param signal ends the questions under way and lets none begin; null: they are answered */
export function createQuestions(
  { client, bucket, conflicts }: { client: InfluxClient; bucket: string; conflicts: Conflicts },
  signal: AbortSignal | null,
): SeriesQuestions {
  /** Each tenant has its own share of what runs at once. */
  const of = ({ tenant }: Pick<SeriesRef, "tenant">): Questioner => ({
    query: (flux) => client.query(flux, { tenant, signal }),
  });

  async function named<T>(series: SeriesRef, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw error instanceof ForeignValue ? mismatch(bucket, series, error.heldAs) : error;
    }
  }

  /** Nor with nothing where our points have been refused. @throws StoreError MISMATCH */
  function whole(series: SeriesRef, range: Bounds): ReadablePart {
    const part = conflicts.part(series, range, "newest");
    if (part.conflict !== undefined) throw mismatch(bucket, series, part.conflict.heldAs);
    return part;
  }

  /** So many points from one end are answered if they lie on this side of the nearest refused one. */
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
    const bySeries = await newestOf(of(first), sound, range, newest).catch((error: unknown) => {
      // the engine does not say of which series
      if (error instanceof ForeignValue) return new Map<SeriesRef, Columns | StoreError>();
      throw error;
    });
    const answers: (Columns | StoreError)[] = [];
    // Which points of these can be told depends on where the others' lie, or on what the engine holds.
    for (const one of series)
      answers.push(bySeries.get(one) ?? (await readOrError(one, { ...range, newest })));
    return answers;
  }

  /** Of texts a few at first: how many more fit their bytes is known then. */
  async function newestOf(
    client: Questioner,
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
    // As many of each as the longest of them let expect.
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
        isOpen ? await readTexts(client, bucket, one, spanOf(range), wanted, columns) : columns,
      );
    }
    return bySeries;
  }

  /** All that was asked for, and neither its bytes nor its points are at an end. */
  const goesOn = (columns: Columns | StoreError, points: number): columns is Columns =>
    "times" in columns && columns.kind === "text" && !columns.cut && columns.times.length === points;

  const readOrError = (series: SeriesRef, range: ReadRange): Promise<Columns | StoreError> =>
    read(series, range).catch((error: unknown) => {
      if (error instanceof StoreError && error.code === "MISMATCH") return error;
      throw error;
    });

  /** The windows before the end of what can be read; `ask` need not answer those behind it. */
  function windowed<Q extends AggregateQuery, T>(query: Q, ask: (query: Q) => Promise<T>): Promise<T> {
    const { series, edges } = query;
    const last = edges.at(-1) ?? 0;
    const { stop } = whole(series, { start: edges[0], stop: last });
    const part = stop < last ? { edges: [...edges.filter((edge) => edge < stop), stop] } : {};
    return named(series, () => ask({ ...query, ...part }));
  }

  async function latest(series: readonly SeriesRef[]): Promise<Latest[]> {
    const parts = series.map((one) => ({ one, ...conflicts.part(one, {}, "newest") }));
    const answers = new Map<SeriesRef, Latest>();
    for (const start of new Set(parts.map((part) => part.start))) {
      const asked = parts.filter((part) => part.start === start);
      const refs = asked.map(({ one }) => one);
      const found = await latestPoints(of(refs[0] ?? { tenant: 0 }), bucket, refs, start);
      for (const [i, { one, conflict }] of asked.entries()) {
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
      const { start, stop } = whole(query.series, query);
      return named(query.series, () => readExtremes(of(query.series), bucket, { ...query, start, stop }));
    },
    latest,
  };
}

/** Empty windows at the end, up to as many as were asked for. */
function padded(values: readonly (number | null)[], { edges }: AggregateQuery): (number | null)[] {
  return Array.from({ length: Math.max(edges.length - 1, 0) }, (_, i) => values[i] ?? null);
}
