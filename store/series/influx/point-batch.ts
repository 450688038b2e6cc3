/** Batches of columns as line protocol, without an object for each point; and as points where those are needed. */

import { isStorableTime } from "../../lib/time-range.js";
import type { Point, PointBatch, RefusedAt, RefusedPoint } from "../series.js";
import { keyOf } from "./lines.js";

/**
 * The lines of a batch in its order; consecutive points of one device and time share one. Null when InfluxDB cannot
 * hold one of the points.
 */
export function bodyOf({ series, seriesAt, times, values, texts }: PointBatch): string | null {
  const keys = series.map(keyOf);
  let body = "";
  let end = "";
  let head = "";
  let time = Number.NaN;
  let fields: string[] = [];
  for (let i = 0; i < times.length; i += 1) {
    const index = seriesAt[i] ?? -1;
    const ref = series[index];
    const key = keys[index];
    const number = values[i] ?? Number.NaN;
    const at = times[i] ?? Number.NaN;
    if (ref === undefined || key === undefined || !Number.isFinite(number) || !isStorableTime(at))
      return null;
    const pair = `${key.field}${valueTexts[ref.kind](number, texts)}`;
    // A field that is twice in one line has no order; on two lines it has.
    if (at === time && key.head === head && !fields.includes(key.field)) {
      body += `,${pair}`;
      fields.push(key.field);
      continue;
    }
    body += `${end}${key.head}${pair}`;
    end = at === 0 ? " 0\n" : ` ${at}000\n`;
    head = key.head;
    time = at;
    fields = [key.field];
  }
  return body + end;
}

const valueTexts = {
  number: (value: number) => (Object.is(value, -0) ? "-0" : String(value)),
  boolean: (value: number) => (value === 1 ? "true" : "false"),
  text: (value: number, texts: readonly string[]) => `"${(texts[value] ?? "").replace(/["\\]/g, "\\$&")}"`,
} as const;

export function pointsOfBatch({ series, seriesAt, times, values, texts }: PointBatch): Point[] {
  const points: Point[] = [];
  for (let i = 0; i < times.length; i += 1) {
    const ref = series[seriesAt[i] ?? 0];
    if (ref === undefined) throw new RangeError(`no series has place ${seriesAt[i]}`);
    const number = values[i] ?? Number.NaN;
    const value =
      ref.kind === "text" ? (texts[number] ?? "") : ref.kind === "boolean" ? number === 1 : number;
    points.push({ series: ref, time: times[i] ?? Number.NaN, value, serverStamped: false });
  }
  return points;
}

/** The indexes of the refused points in the batch. */
export function refusedIndexes(points: readonly Point[], refused: readonly RefusedPoint[]): RefusedAt[] {
  if (refused.length === 0) return [];
  const indexes = new Map(points.map((point, index) => [point, index]));
  return refused.map(({ point, reason }) => ({ index: indexes.get(point) ?? 0, reason }));
}
