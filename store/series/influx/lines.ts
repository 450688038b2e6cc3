/** Encodes points in InfluxDB's line protocol: consecutive points of one device and time share a line. */

import { isStorableTime } from "../../lib/time-range.js";
import type { Point, RefusedPoint, SeriesRef } from "../series.js";

/** The reach of questions and deletions: all times that both a double and InfluxDB's nanosecond clock hold exactly. */
export const timeMin = Number.MIN_SAFE_INTEGER;
export const timeMax = Number.MAX_SAFE_INTEGER - 1;

const timeRefused = "the time is no whole microsecond from 1684-08-01 to 2255-05-31";

export interface Line {
  readonly text: string;
  /** The points whose values the line carries, one for each field. */
  readonly points: readonly Point[];
}

interface Draft {
  readonly head: string;
  readonly time: number;
  readonly serverStamped: boolean;
  readonly fields: string[];
  readonly values: string[];
  readonly points: Point[];
}

/** Escaped measurement and tag (`head`), and escaped field key, of a series; references are interned. */
const keys = new WeakMap<SeriesRef, { readonly head: string; readonly field: string }>();

/**
 * Lines in the order of the points; a value that InfluxDB cannot hold is refused here. A field repeated within
 * a line keeps its last value. `nodeNumber` 0 to 999 fills the nanoseconds of server-stamped times.
 */
export function encodeLines(
  points: readonly Point[],
  nodeNumber: number,
): { lines: Line[]; refused: RefusedPoint[] } {
  const lines: Line[] = [];
  const refused: RefusedPoint[] = [];
  let draft: Draft | undefined;
  for (const point of points) {
    const value = encodeValue(point);
    if (typeof value !== "string" || !isStorableTime(point.time)) {
      const reason = typeof value === "string" ? timeRefused : value.reason;
      refused.push({ point, reason });
      continue;
    }
    const key = keyOf(point.series);
    if (draft && !(draft.head === key.head && sameTime(draft, point))) {
      lines.push(finish(draft, nodeNumber));
      draft = undefined;
    }
    const { time, serverStamped } = point;
    draft ??= { head: key.head, time, serverStamped, fields: [], values: [], points: [] };
    // A line has few fields: searching them costs less than a map for each line.
    const known = draft.fields.indexOf(key.field);
    const index = known < 0 ? draft.fields.push(key.field) - 1 : known;
    draft.values[index] = value;
    draft.points[index] = point;
  }
  if (draft) lines.push(finish(draft, nodeNumber));
  return { lines, refused };
}

/** The same points, each on a line of its own. */
export function explode(lines: readonly Line[], nodeNumber: number): Line[] {
  return lines.flatMap((line) =>
    line.points.length === 1
      ? [line]
      : line.points.flatMap((point) => encodeLines([point], nodeNumber).lines),
  );
}

/**
 * A name as InfluxDB stores it. Line protocol cannot write a backslash before a separator, so names with a backslash,
 * or with the percent sign that then marks one, are stored percent-encoded.
 */
export function influxName(name: string): string {
  return /[%\\\n\r]/.test(name) ? name.replace(/[%\\\n\r]/g, encodeURIComponent) : name;
}

export function keyOf(series: SeriesRef): { readonly head: string; readonly field: string } {
  const known = keys.get(series);
  if (known) return known;
  const measurement = influxName(series.productID).replace(/[, ]/g, "\\$&");
  const key = {
    head: `${measurement},device=${escapeKey(series.deviceID)} `,
    field: `${escapeKey(series.field)}=`,
  };
  keys.set(series, key);
  return key;
}

function escapeKey(name: string): string {
  return influxName(name).replace(/[,= ]/g, "\\$&");
}

function encodeValue({ series, value }: Point): string | { readonly reason: string } {
  switch (series.kind) {
    case "number":
      if (typeof value !== "number" || !Number.isFinite(value)) return { reason: "not a finite number" };
      return Object.is(value, -0) ? "-0" : String(value);
    case "boolean":
      if (value === true || value === 1) return "true";
      return value === false || value === 0 ? "false" : { reason: "not a boolean" };
    case "text":
      if (typeof value !== "string") return { reason: "not a text" };
      return `"${value.replace(/["\\]/g, "\\$&")}"`;
  }
}

function sameTime(draft: Draft, point: Point): boolean {
  return draft.time === point.time && draft.serverStamped === point.serverStamped;
}

function finish({ head, time, serverStamped, fields, values, points }: Draft, nodeNumber: number): Line {
  let text = head;
  for (let i = 0; i < fields.length; i += 1) text += `${i === 0 ? "" : ","}${fields[i]}${values[i]}`;
  return { text: `${text} ${nanoseconds(time, serverStamped ? nodeNumber : 0)}`, points };
}

function nanoseconds(time: number, nodeNumber: number): string {
  if (nodeNumber === 0) return time === 0 ? "0" : `${time}000`;
  if (time > 0) return `${time}${String(nodeNumber).padStart(3, "0")}`;
  return String(BigInt(time) * 1000n + BigInt(nodeNumber));
}
