import { type DataPoint, kindOf } from "../store/data-points.js";
import type { SeriesStore } from "../store/series.js";
import type { SeriesOwner, SeriesRefs } from "./series-refs.js";

/** The newest point of a series; time in microseconds, the value as its data point shows it. */
export interface NewestPoint {
  readonly time: number;
  readonly value: number | string | boolean | readonly number[];
}

/** A data point of a device. */
export interface Gauge {
  readonly device: SeriesOwner;
  readonly point: Pick<DataPoint, "field" | "pointDataType">;
}

const placeType = 6;

/** The newest point of each, null where there is none; same order as asked. */
export async function newestPoints(
  store: SeriesStore,
  refs: SeriesRefs,
  gauges: readonly Gauge[],
): Promise<(NewestPoint | null)[]> {
  if (gauges.length === 0) return [];
  const series = gauges.map(({ device, point }) =>
    refs.of(device, { field: point.field, kind: kindOf(point.pointDataType) }),
  );
  const found = await store.latest(series);
  return gauges.map(({ point }, i) => {
    const newest = found[i];
    return newest ? { time: newest.time, value: shown(point.pointDataType, newest.value) } : null;
  });
}

/** Booleans are stored as 1 and 0, places as JSON. */
export function shown(pointDataType: number, value: number | string): NewestPoint["value"] {
  if (pointDataType === placeType) return JSON.parse(String(value)) as readonly number[];
  return kindOf(pointDataType) === "boolean" ? value === 1 : value;
}

/** A value as text; a place as JSON. */
export function valueText(value: NewestPoint["value"]): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
