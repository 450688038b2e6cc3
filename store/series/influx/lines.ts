/** Points in InfluxDB's line protocol: at once, or line by line where some of them are refused. */

import { createSlice } from "../../lib/scheduling.js";
import type { Point, RefusedPoint, SeriesPointBatch } from "../series.js";
import { createLineBytes, type LineBytes } from "./line-bytes.js";
import { readBatchValue } from "./point-batch.js";

export interface InfluxLine {
  readonly text: string;
  /** The points whose values the line carries, one for each field. */
  readonly points: readonly Point[];
}

/** A line in the making: where it begins in the body. */
interface Draft {
  readonly start: number;
  readonly points: Point[];
}

/** About the bytes of so many points: larger bodies grow. */
const estimateBytes = (points: number): number => 256 + points * 64;

/** Points between two looks at the clock. */
const stepPoints = 1024;

/**
 * The lines of the points in their order, as one body, made in slices; null when InfluxDB cannot hold one of them.
 * `nodeNumber` 0 to 999 fills the nanoseconds of server-stamped times.
 */
export async function encodeBody(points: readonly Point[], nodeNumber: number): Promise<Buffer | null> {
  const bytes = createLineBytes(nodeNumber, estimateBytes(points.length));
  const slice = createSlice();
  let steps = 0;
  for (const { series, time, value, serverStamped } of points) {
    if (++steps % stepPoints === 0 && slice.isOver()) await slice.next();
    if (bytes.add(series, time, value, serverStamped) !== null) return null;
  }
  return bytes.end();
}

/** The same of a batch of columns, whose times are nobody's stamps. */
export function encodeBatchBody(batch: SeriesPointBatch): Buffer | null {
  const { series, seriesAt, times } = batch;
  const bytes = createLineBytes(0, estimateBytes(times.length));
  for (let i = 0; i < times.length; i += 1) {
    const ref = series[seriesAt[i] ?? -1];
    const value = ref && readBatchValue(batch, i, ref.kind);
    if (ref === undefined || value === undefined) return null;
    if (bytes.add(ref, times[i] ?? Number.NaN, value, false) !== null) return null;
  }
  return bytes.end();
}

/** Lines in the order of the points; a point that InfluxDB cannot hold is refused here. */
export function encodeLines(
  points: readonly Point[],
  nodeNumber: number,
): { lines: InfluxLine[]; refused: RefusedPoint[] } {
  const bytes = createLineBytes(nodeNumber, estimateBytes(points.length));
  const refused: RefusedPoint[] = [];
  const drafts: Draft[] = [];
  for (const point of points) {
    const reason = bytes.add(point.series, point.time, point.value, point.serverStamped);
    if (reason !== null) refused.push({ point, reason });
    else findDraft(drafts, bytes).points.push(point);
  }
  const body = bytes.end();
  const lines = drafts.map(({ start, points: own }, i) => {
    const stop = (drafts[i + 1]?.start ?? body.length + 1) - 1;
    return { text: body.toString("utf8", start, stop), points: own };
  });
  return { lines, refused };
}

/** The same points, each on a line of its own. */
export function explode(lines: readonly InfluxLine[], nodeNumber: number): InfluxLine[] {
  return lines.flatMap((line) =>
    line.points.length === 1
      ? [line]
      : line.points.flatMap((point) => encodeLines([point], nodeNumber).lines),
  );
}

/** The draft of the line that has the point added last: a new one, or the one before it. */
function findDraft(drafts: Draft[], { lineStart }: LineBytes): Draft {
  const last = drafts.at(-1);
  if (last?.start === lineStart) return last;
  const draft = { start: lineStart, points: [] };
  drafts.push(draft);
  return draft;
}
