/** The queries of a series store that consists of several: each goes to those that may have the device's points. */
import { StoreError } from "../../lib/errors.js";
import { createAggregation } from "../aggregation.js";
import { createExtremes } from "../extremes.js";
import type {
  AggregateQuery,
  Columns,
  DeviceKey,
  ExtremesQuery,
  Latest,
  ReadRange,
  SeriesReader,
  SeriesRef,
} from "../series.js";
import { mergeColumns, mergeEnds, mergeScans } from "./merge.js";
import type { SeriesPlaces } from "./places.js";

/** At least one. */
type ShardReaders = readonly [SeriesReader, ...SeriesReader[]];

/** Points of one piece that is read to be computed with. */
const pieceMax = 20_000;

export function createShardedReader(
  stores: readonly SeriesReader[],
  places: Pick<SeriesPlaces, "ofDevices">,
): SeriesReader {
  async function of(device: DeviceKey): Promise<ShardReaders> {
    const [found = []] = await places.ofDevices([device]);
    const [first, ...others] = found.map((place) => stores[place]).filter((one) => one !== undefined);
    if (first === undefined) throw new RangeError("a device without a store");
    return [first, ...others];
  }

  /** The stores that have points of the series in the range; the first where none has. */
  async function having(series: SeriesRef, range: Pick<ReadRange, "start" | "stop">): Promise<ShardReaders> {
    const selected = await of(series);
    if (selected.length === 1) return selected;
    const newest = await Promise.all(selected.map((store) => store.read(series, { ...range, newest: 1 })));
    const [first, ...others] = selected.filter((_, i) => (newest[i]?.times.length ?? 0) > 0);
    return first === undefined ? [selected[0]] : [first, ...others];
  }

  async function latest(series: readonly SeriesRef[]): Promise<Latest[]> {
    const where = await places.ofDevices(series);
    const answers = await Promise.all(
      stores.map(async (store, place) => {
        const selected = series.filter((_, i) => where[i]?.includes(place));
        if (selected.length === 0) return new Map<SeriesRef, Latest>();
        const found = await store.latest(selected);
        return new Map(selected.map((one, i) => [one, found[i] ?? null]));
      }),
    );
    return series.map((one, i) =>
      (where[i] ?? []).map((place) => answers[place]?.get(one) ?? null).reduce(later, null),
    );
  }

  return {
    read: async (series, range) => {
      const [first, ...others] = await of(series);
      if (others.length === 0) return first.read(series, range);
      return mergeEnds(await Promise.all([first, ...others].map((one) => one.read(series, range))), range);
    },
    readNewest: async (series, range, newest) => {
      const [device] = series;
      if (device === undefined) return [];
      const [first, ...others] = await of(device);
      if (others.length === 0) return first.readNewest(series, range, newest);
      const answers = await Promise.all(
        [first, ...others].map((one) => one.readNewest(series, range, newest)),
      );
      return series.map((_, i) =>
        mergedOrError(
          answers.map((answer) => answer[i]),
          { ...range, newest },
        ),
      );
    },
    scan: async function* (series, range, pointsMax) {
      const [first, ...others] = await of(series);
      if (others.length === 0) return yield* first.scan(series, range, pointsMax);
      yield* scanAll([first, ...others], series, range, pointsMax);
    },
    aggregate: async (query) => {
      const [first, ...others] = await having(query.series, toRange(query));
      return others.length === 0 ? first.aggregate(query) : aggregateFromPoints([first, ...others], query);
    },
    aggregateArithmetic: async (query) => {
      const [first, ...others] = await having(query.series, toRange(query));
      return others.length === 0 ? first.aggregateArithmetic(query) : null;
    },
    extremes: async (query) => {
      const { start, stop } = query;
      const [first, ...others] = await having(query.series, { start, stop });
      return others.length === 0 ? first.extremes(query) : extremesFromPoints([first, ...others], query);
    },
    latest,
  };
}

/** An increase counts from the point before the windows. */
function toRange({ edges, aggregate }: AggregateQuery): Pick<ReadRange, "start" | "stop"> {
  const [start = 0] = edges;
  const stop = edges.at(-1) ?? start;
  return aggregate === "increase" ? { stop } : { start, stop };
}

/** Chooses the newer one. An error wins, because the point behind it may be the newer one. */
function later(one: Latest, other: Latest): Latest {
  if (one === null || other === null) return one ?? other;
  if ("error" in one) return one;
  return "error" in other || other.time > one.time ? other : one;
}

function mergedOrError(
  parts: readonly (Columns | StoreError | undefined)[],
  range: ReadRange,
): Columns | StoreError {
  const columns: Columns[] = [];
  for (const part of parts) {
    if (part instanceof StoreError) return part;
    if (part !== undefined) columns.push(part);
  }
  return mergeEnds(columns, range);
}

function scanAll(
  stores: ShardReaders,
  series: SeriesRef,
  { bytesMax, ...range }: Pick<ReadRange, "start" | "stop" | "bytesMax">,
  pointsMax: number,
): AsyncGenerator<Columns> {
  const bounds = bytesMax === undefined ? range : { ...range, bytesMax: Math.ceil(bytesMax / stores.length) };
  return mergeScans(stores.map((store) => store.scan(series, bounds, pointsMax)));
}

async function aggregateFromPoints(stores: ShardReaders, query: AggregateQuery): Promise<(number | null)[]> {
  const { series, edges, aggregate } = query;
  const [start = 0] = edges;
  const aggregation = createAggregation(edges, aggregate);
  if (aggregate === "increase") {
    const range = { stop: start, newest: 1 };
    const parts = await Promise.all(stores.map((store) => store.read(series, range)));
    const before = mergeEnds(parts, range).values[0];
    if (typeof before === "number") aggregation.startFrom(before);
  }
  for await (const piece of scanAll(stores, series, { start, stop: edges.at(-1) ?? start }, pieceMax)) {
    if (piece.kind !== "text") aggregation.add(piece.times, piece.values);
  }
  return aggregation.result();
}

async function extremesFromPoints(stores: ShardReaders, query: ExtremesQuery): Promise<Columns> {
  const { series, start, stop, width, exactMax } = query;
  const extremes = createExtremes(width);
  let few: Columns[] = [];
  let count = 0;
  for await (const piece of scanAll(stores, series, { start, stop }, pieceMax)) {
    if (piece.kind === "text") continue;
    extremes.add(piece.times, piece.values);
    count += piece.times.length;
    few = count <= exactMax ? [...few, piece] : [];
  }
  if (few.length > 0) return mergeColumns(few);
  return { kind: series.kind === "boolean" ? "boolean" : "number", ...extremes.result() };
}
