import { isStorableTime } from "../../lib/time-range.js";
import type { Kind, Point, RefusedAt, RefusedPoint, SeriesPointBatch } from "../series.js";
import type { Handles } from "./handles.js";
import type { WriteArgs } from "./protocol.js";

interface Batch {
  readonly args: WriteArgs;
  readonly refused: RefusedPoint[];
}

const loneSurrogates = /\p{Surrogate}/gu;

const nameRefused = "the series' name holds NUL or half a surrogate pair";
const timeRefused = "the time is no whole microsecond from 1684-08-01 to 2255-05-31";

const typeOfKind: Readonly<Record<Kind, string>> = { number: "number", boolean: "boolean", text: "string" };

/** Why a point can never be stored; undefined when it can. */
function refusal({ series, time, value }: Point, handle: number): string | undefined {
  if (handle < 0) return nameRefused;
  if (!isStorableTime(time)) return timeRefused;
  if (typeof value === typeOfKind[series.kind] && (typeof value !== "number" || Number.isFinite(value)))
    return undefined;
  return `value is no ${series.kind}`;
}

/** Turns points into columns that travel to the writer without a copy; half surrogate pairs become U+FFFD. */
export function packBatch(points: readonly Point[], through: number, handles: Handles): Batch {
  const refused: RefusedPoint[] = [];
  const handleColumn = new Int32Array(points.length);
  const times = new Float64Array(points.length);
  const values = new Float64Array(points.length);
  const texts: string[] = [];
  let textIndex: Int32Array | null = null;
  let n = 0;
  for (const point of points) {
    const handle = handles.of(point.series);
    const reason = refusal(point, handle);
    if (reason !== undefined) {
      refused.push({ point, reason });
      continue;
    }
    const { value } = point;
    if (typeof value === "string") {
      textIndex ??= new Int32Array(points.length).fill(-1);
      textIndex[n] = texts.push(value.replace(loneSurrogates, "\uFFFD")) - 1;
    } else values[n] = Number(value);
    handleColumn[n] = handle;
    times[n] = point.time;
    n++;
  }
  const args = {
    handles: handleColumn.subarray(0, n),
    times: times.subarray(0, n),
    values: values.subarray(0, n),
    texts,
    textIndex: textIndex?.subarray(0, n) ?? null,
    through,
  };
  return { args, refused };
}

/** The same columns, with handles in place of the indexes of their series. */
export function packColumns(
  batch: SeriesPointBatch,
  handles: Handles,
): { args: WriteArgs; refused: RefusedAt[] } {
  const { series, seriesAt, times, values } = batch;
  const refused: RefusedAt[] = [];
  const handlesBySeries = series.map((ref) => handles.of(ref));
  const isText = series.map((ref) => ref.kind === "text");
  const textIndex = batch.texts.length === 0 ? null : new Int32Array(times.length).fill(-1);
  let n = 0;
  for (let i = 0; i < times.length; i++) {
    const at = seriesAt[i] ?? 0;
    const handle = handlesBySeries[at] ?? -1;
    const time = times[i] ?? Number.NaN;
    const value = values[i] ?? Number.NaN;
    if (handle < 0 || !isStorableTime(time) || !Number.isFinite(value)) {
      const reason = handle < 0 ? nameRefused : isStorableTime(time) ? "no finite number" : timeRefused;
      refused.push({ index: i, reason });
      continue;
    }
    seriesAt[n] = handle;
    times[n] = time;
    values[n] = value;
    if (textIndex !== null && isText[at] === true) textIndex[n] = value;
    n++;
  }
  const args = {
    handles: seriesAt.subarray(0, n),
    times: times.subarray(0, n),
    values: values.subarray(0, n),
    texts: batch.texts.map((text) => text.replace(loneSurrogates, "\uFFFD")),
    textIndex: textIndex?.subarray(0, n) ?? null,
    through: 0,
  };
  return { args, refused };
}
