/** Reads a series of any length in pieces, each by a query of its own: a slow reader holds no answer open. */

import { textsBytes } from "../../lib/text-bytes.js";
import type { Columns, ReadRange, SeriesRef } from "../series.js";
import type { InfluxReader } from "./client.js";
import { createColumns, parseRows } from "./csv.js";
import { fluxEdgePoint, fluxRead } from "./flux.js";
import { fetchCounted } from "./reading.js";
import { textsExpected, textsFirst } from "./texts.js";
import { timeMax, timeMin } from "./times.js";

const widthFirst = 60_000_000;
const widthMax = 400 * 86_400_000_000;
const widenMax = 16;

/**
 * Flux's own limit reads the whole range, so the range is cut: each piece covers the time that, going by the piece
 * before it, holds about `pointsMax` points, or as many texts as fit their bytes. A piece that holds more is cut off
 * there, and the next goes on after it.
 */
export async function* scanColumns(
  client: InfluxReader,
  bucket: string,
  series: SeriesRef,
  range: Pick<ReadRange, "start" | "stop" | "bytesMax">,
  pointsMax: number,
): AsyncGenerator<Columns> {
  const stop = Math.min(range.stop ?? timeMax + 1, timeMax + 1);
  let from = Math.max(range.start ?? timeMin, timeMin);
  let width = widthFirst;
  const bytesMax = series.kind === "text" ? range.bytesMax : undefined;
  const limit = bytesMax === undefined ? null : ({ from: "oldest", bytesMax } as const);
  let most = limit === null ? pointsMax : Math.min(pointsMax, textsFirst);
  while (from < stop) {
    const first = await firstTime(client, bucket, series, from, stop);
    if (first === undefined) return;
    for (from = first; from < stop; ) {
      const end = Math.min(stop, from + width);
      const rowsMax = most * 2;
      const flux = fluxRead(bucket, series, from, end, { from: "oldest", pointsMax: rowsMax });
      const { columns, rows } = await fetchCounted(client, series, flux, limit);
      const isCut = columns.kind === "text" && columns.cut === true;
      const piece = rows < rowsMax || isCut ? columns : withoutLast(columns);
      const { length } = piece.times;
      if (isCut) from = (columns.times.at(-1) ?? end) + 1;
      else from = rows < rowsMax ? end : (columns.times.at(-1) ?? end);
      // Rows of a single microsecond filled the piece, so that nothing was left to hand out: ask for more.
      if (length === 0 && rows >= rowsMax) most *= 2;
      else if (piece.kind === "text" && bytesMax !== undefined && length > 0) {
        const seen = { points: length, bytes: textsBytes(piece.values) };
        most = Math.min(pointsMax, textsExpected(seen, bytesMax));
      }
      // The taker of a piece may move its memory to another thread.
      if (length > 0) yield piece;
      const ratio = most / Math.max(length, 1);
      width = Math.ceil(Math.min(widthMax, Math.max(1, width * Math.min(ratio, widenMax))));
      // A gap: the storage engine finds its end faster than widening does.
      if (length === 0 && rows === 0) break;
    }
  }
}

async function firstTime(
  client: InfluxReader,
  bucket: string,
  series: SeriesRef,
  start: number,
  stop: number,
): Promise<number | undefined> {
  const { add, columns } = createColumns(series.kind);
  const flux = fluxEdgePoint(bucket, series, start, stop, "first");
  await parseRows(client.query(flux), series.kind, add);
  return columns().times[0];
}

/** Leaves out the newest time, which may have further rows of other nodes after the cut. */
function withoutLast(columns: Columns): Columns {
  const times = columns.times.subarray(0, -1);
  return columns.kind === "text"
    ? { kind: columns.kind, times, values: columns.values.slice(0, -1) }
    : { kind: columns.kind, times, values: columns.values.subarray(0, -1) };
}
