/** Batches of columns as bodies of line protocol, without an object a point; and as points, where that is needed. */
import type { Point, PointBatch, RefusedAt, RefusedPoint } from "../series.js";
import { holdsTime, keyOf } from "./lines.js";

/** InfluxDB syncs its log at each request and takes two at once. */
const requests = 2;

/**
 * One body for each request, by the points' times: points that fall together stay in one, in their order.
 * Consecutive points of one device and time share a line. Null when a point is one that InfluxDB cannot hold.
 */
export function bodiesOf({ series, seriesAt, times, values, texts }: PointBatch): string[] | null {
  const keys = series.map(keyOf);
  const bodies = Array.from({ length: requests }, () => "");
  let line = "";
  let head = "";
  let time = Number.NaN;
  const fields: string[] = [];
  const finish = (): void => {
    if (line !== "") bodies[requestOf(time)] += `${line} ${time === 0 ? "0" : `${time}000`}\n`;
  };
  for (let i = 0; i < times.length; i += 1) {
    const place = seriesAt[i] ?? -1;
    const ref = series[place];
    const key = keys[place];
    const number = values[i] ?? Number.NaN;
    const at = times[i] ?? Number.NaN;
    if (ref === undefined || key === undefined || !Number.isFinite(number) || !holdsTime(at)) return null;
    const value = valueTexts[ref.kind](number, texts);
    // A field twice in one line has no order; the same in two lines has.
    if (at === time && key.head === head && !fields.includes(key.field)) {
      line += `,${key.field}${value}`;
      fields.push(key.field);
      continue;
    }
    finish();
    time = at;
    head = key.head;
    line = `${head}${key.field}${value}`;
    fields.length = 0;
    fields.push(key.field);
  }
  finish();
  return bodies.filter((body) => body !== "");
}

const valueTexts = {
  number: (value: number) => (Object.is(value, -0) ? "-0" : String(value)),
  boolean: (value: number) => (value === 1 ? "true" : "false"),
  text: (value: number, texts: readonly string[]) => `"${(texts[value] ?? "").replace(/["\\]/g, "\\$&")}"`,
} as const;

/** Multiplied by the golden ratio, what a clock counts in any unit is evenly spread over the high bits. */
function requestOf(micros: number): number {
  const hash = Math.imul(Math.floor(micros / 1000) | 0, 0x9e3779b1) >>> 0;
  return Math.floor(hash / (2 ** 32 / requests));
}

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

/** Where the refused points lie in the batch. */
export function refusedPlaces(points: readonly Point[], refused: readonly RefusedPoint[]): RefusedAt[] {
  if (refused.length === 0) return [];
  const places = new Map(points.map((point, index) => [point, index]));
  return refused.map(({ point, reason }) => ({ index: places.get(point) ?? 0, reason }));
}
