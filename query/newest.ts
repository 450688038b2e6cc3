import { type DataPoint, toSeriesKind } from "../store/metadata/products/data-points.js";
import type { SeriesReader } from "../store/series/series.js";
import type { SeriesOwner, SeriesRefs } from "./series-refs.js";

/** The newest point of a series; time in microseconds, the value as its data point shows it. */
interface NewestPoint {
  readonly time: number;
  readonly value: number | string | boolean | readonly number[];
}

/** The reason why the newest point is not known. */
interface NewestUnknown {
  readonly error: string;
}

/** Null if there is no point. */
export type Newest = NewestPoint | NewestUnknown | null;

/** A data point of a device. */
interface Gauge {
  readonly device: SeriesOwner;
  readonly point: Pick<DataPoint, "field" | "pointDataType">;
}

const placeType = 6;

/** Texts asked for at once: each may have 64 KiB. */
const textsAtOnce = 64;

/**
 * The newest points of gauges, in the order of these. Returns those of the first `least` gauges at least, and further
 * ones up to about `bytesMax` of texts; fewer than asked for if the texts are larger.
 */
export async function readNewestPoints(
  store: SeriesReader,
  refs: SeriesRefs,
  gauges: readonly Gauge[],
  least: number,
  bytesMax: number,
): Promise<Newest[]> {
  const found: Newest[] = [];
  let bytes = 0;
  while (found.length < gauges.length && (found.length < least || bytes <= bytesMax)) {
    let to = found.length;
    for (let texts = 0; to < gauges.length && texts < textsAtOnce; to++) {
      if (toSeriesKind(gauges[to]?.point.pointDataType ?? 0) === "text") texts++;
    }
    for (const newest of await newestPoints(store, refs, gauges.slice(found.length, to))) {
      found.push(newest);
      if (newest !== null && "value" in newest && typeof newest.value === "string")
        bytes += newest.value.length;
    }
  }
  return found;
}

/** The newest point of each gauge, in the order asked. */
async function newestPoints(
  store: SeriesReader,
  refs: SeriesRefs,
  gauges: readonly Gauge[],
): Promise<Newest[]> {
  if (gauges.length === 0) return [];
  const series = gauges.map(({ device, point }) =>
    refs.of(device, { field: point.field, kind: toSeriesKind(point.pointDataType) }),
  );
  const found = await store.latest(series);
  return gauges.map(({ point }, i) => {
    const newest = found[i];
    if (!newest) return null;
    if ("error" in newest) return { error: newest.error.message };
    return { time: newest.time, value: toShownValue(point.pointDataType, newest.value) };
  });
}

/** The fields that an answer adds: a value and, if it is unknown, the reason. */
export function toNewestFields<T>(
  newest: Newest,
  show: (point: NewestPoint) => T,
): { value: T | null; error?: string } {
  if (newest === null) return { value: null };
  return "error" in newest ? { value: null, error: newest.error } : { value: show(newest) };
}

/** Whether values of the type are places, which the store has as JSON. */
export const isPlace = (pointDataType: number): boolean => pointDataType === placeType;

/** Booleans are stored as 1 and 0, places as JSON. */
export function toShownValue(pointDataType: number, value: number | string): NewestPoint["value"] {
  if (isPlace(pointDataType)) return JSON.parse(String(value)) as readonly number[];
  return toSeriesKind(pointDataType) === "boolean" ? value === 1 : value;
}

/** A value as text; a place as JSON. */
export function valueText(value: NewestPoint["value"]): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
