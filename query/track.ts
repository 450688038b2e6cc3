import { textsPerReadBytes } from "../store/lib/text-bytes.js";
import type { ReadRange, SeriesReader, SeriesRef } from "../store/series/series.js";
import { asNumbers, type NumberColumns, readLatestBefore } from "./points.js";

/** The series with the location of a device: positions, or longitude and latitude separately. */
export interface LocationSeries {
  /** Texts of JSON arrays [longitude, latitude, …]. */
  readonly positions: readonly SeriesRef[];
  readonly longitude: SeriesRef | null;
  readonly latitude: SeriesRef | null;
}

/** [longitude, latitude] in degrees. */
type LngLat = readonly [number, number];

interface Position {
  /** Microseconds since 1970. */
  readonly time: number;
  readonly lnglat: LngLat;
}

/**
 * The newest `limit` positions of a range, ascending, and whether there were more. Longitudes and latitudes that came
 * separately are paired with the latest of each other; a position wins over both at its time.
 */
export async function track(
  store: SeriesReader,
  series: LocationSeries,
  range: Pick<ReadRange, "start" | "stop">,
  limit: number,
): Promise<{ readonly positions: Position[]; readonly truncated: boolean }> {
  const bounds = { ...range, newest: limit + 1 };
  const found = new Map<number, LngLat>();
  for (const { time, lnglat } of await fromPairs(store, series, bounds)) found.set(time, lnglat);
  let cut = false;
  for (const one of series.positions) {
    const columns = await store.read(one, { ...bounds, bytesMax: textsPerReadBytes });
    if (columns.kind !== "text") continue;
    cut ||= columns.cut === true;
    for (const [i, time] of columns.times.entries()) found.set(time, parseLngLat(columns.values[i] ?? "[]"));
  }
  const positions = [...found]
    .filter(([, lnglat]) => isOnEarth(lnglat))
    .map(([time, lnglat]) => ({ time, lnglat }))
    .sort((a, b) => a.time - b.time);
  const truncated = cut || found.size > limit;
  return { positions: positions.slice(-limit), truncated };
}

async function fromPairs(
  store: SeriesReader,
  { longitude, latitude }: LocationSeries,
  bounds: ReadRange,
): Promise<Position[]> {
  if (longitude === null || latitude === null) return [];
  const [east, north] = await Promise.all(
    [longitude, latitude].map(async (one) => asNumbers(await store.read(one, bounds))),
  );
  const times = union(east, north);
  const [lng, lat] = await Promise.all([
    readLatestBefore(store, longitude, times),
    readLatestBefore(store, latitude, times),
  ]);
  return Array.from(times, (time, i) => ({ time, lnglat: [lng[i] ?? NaN, lat[i] ?? NaN] as const }));
}

function union(...columns: readonly (NumberColumns | undefined)[]): Float64Array {
  const times = new Set(columns.flatMap((one) => [...(one?.times ?? [])]));
  return Float64Array.from(times).sort();
}

function parseLngLat(text: string): LngLat {
  const [lng, lat] = JSON.parse(text) as readonly number[];
  return [lng ?? NaN, lat ?? NaN];
}

/** False for NaN too: before the first longitude or latitude there is no position. */
function isOnEarth([lng, lat]: LngLat): boolean {
  return Math.abs(lng) <= 180 && Math.abs(lat) <= 90;
}
