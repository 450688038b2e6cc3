import { join } from "node:path";
import type { Client, Row } from "@libsql/client/sqlite3";
import { isDamage } from "../../files/database-faults.js";
import { systemClock } from "../../lib/clock.js";
import { asError } from "../../lib/errors.js";
import { createLock } from "../../lib/turns.js";
import { createAggregation } from "../aggregation.js";
import { computeColumn, computeOne } from "../arithmetic.js";
import { createExtremes } from "../extremes.js";
import type { ArithmeticAnswer } from "../series.js";
import type { Handlers } from "./calls.js";
import type { Part } from "./catalog-schema.js";
import { createVerified, openLast, type Verified } from "./checksums.js";
import { NO_TIME_ABOVE, NO_TIME_BELOW, type Run } from "./columns.js";
import { fetchMerged, fetchOverlaid, type PartFiles } from "./fetch.js";
import { openPartFileToRead } from "./files.js";
import { checkLeft } from "./leaving.js";
import { createOpenFiles } from "./open-files.js";
import type { LastPoint, ReaderCalls, SeriesInFiles } from "./protocol.js";
import { whileBusy } from "./sqlite.js";

const LATEST_AT_ONCE_MAX = 256;

/** What one reader thread answers, one call after the other; `onFault` is told of what is left out of answers. */
export function createReader({
  dir,
  filesMax,
  onFault,
}: {
  dir: string;
  /** Files open at once. */
  filesMax: number;
} & Pick<PartFiles, "onFault">): Handlers<ReaderCalls> {
  const inTurn = createLock();
  const verified = new Map<string, Verified>();
  const opened = createOpenFiles<{ readonly client: Client }>(filesMax, (path) => verified.delete(path));
  const files: PartFiles = { open, onFault, verified: verifiedOf };

  function verifiedOf({ path }: Part): Verified {
    const known = verified.get(path) ?? createVerified(systemClock.monotonic);
    verified.set(path, known);
    return known;
  }

  async function open(part: Part): Promise<Client> {
    const known = opened.get(part.path);
    if (known !== undefined) return known.client;
    const client = await openPartFileToRead(join(dir, part.path));
    await opened.add(part.path, { client });
    return client;
  }

  const rangeOf = (args: SeriesInFiles, start = NO_TIME_BELOW, stop = NO_TIME_ABOVE) => ({
    id: args.id,
    text: args.text,
    parts: args.parts,
    left: args.left,
    start: Math.max(start, args.floor),
    stop,
  });

  async function aggregate(args: ReaderCalls["aggregate"]["args"]): Promise<ArithmeticAnswer | null> {
    const { edges, arithmetic } = args;
    const start = edges[0] ?? 0;
    const aggregation = createAggregation(edges, args.aggregate);
    let errors = 0;
    if (args.aggregate === "increase") {
      const before = await pointBefore(args, start);
      const from = before === undefined || arithmetic === null ? before : computeOne(arithmetic, before);
      // The last result lies further back: whoever asks reads the points.
      if (arithmetic !== null && from !== undefined && !Number.isFinite(from)) return null;
      if (from !== undefined) aggregation.startFrom(from);
    }
    for await (const { times, values } of fetchOverlaid(
      files,
      rangeOf(args, start, edges.at(-1)),
      args.memory,
    )) {
      // of text only the number of points is asked
      const numbers = Array.isArray(values) ? new Float64Array(values.length) : values;
      if (arithmetic === null) aggregation.add(times, numbers);
      else {
        const results = withResults(times, computeColumn(arithmetic, numbers));
        aggregation.add(results.times, results.values);
        errors += times.length - results.times.length;
      }
    }
    return { values: aggregation.result(), errors };
  }

  async function extremes(args: ReaderCalls["extremes"]["args"]): Promise<Run> {
    const thinned = createExtremes(args.width);
    const range = rangeOf(args, args.start, args.stop);
    for await (const { times, values } of fetchOverlaid(files, range, args.memory)) {
      if (!Array.isArray(values)) thinned.add(times, values);
    }
    return thinned.result();
  }

  async function pointBefore(
    args: ReaderCalls["aggregate"]["args"],
    start: number,
  ): Promise<number | undefined> {
    const range = { ...rangeOf(args, NO_TIME_BELOW, start), parts: args.earlier };
    const stored = await fetchMerged(files, range, null, { newest: 1 });
    const { before } = args;
    const inFiles = stored.times[0];
    const value =
      before !== null && (inFiles === undefined || before.time >= inFiles) ? before.value : stored.values[0];
    return typeof value === "number" ? value : undefined;
  }

  async function latest({
    ids,
    texts,
    parts,
    floor,
    left,
  }: ReaderCalls["latest"]["args"]): Promise<(LastPoint | null)[]> {
    const isText = new Map(ids.map((id, i) => [id, texts[i] === true]));
    const found = new Map<number, LastPoint>();
    for (const part of parts.toReversed()) {
      const mayHold = (_: number, i: number) => ((part.has[i >> 3] ?? 0) & (1 << (i & 7))) !== 0;
      const open = [...new Set(ids.filter(mayHold))].filter((id) => !found.has(id));
      for (let i = 0; i < open.length; i += LATEST_AT_ONCE_MAX) {
        const some = open.slice(i, i + LATEST_AT_ONCE_MAX);
        checkLeft(left);
        for (const [id, point] of await latestFound(part, some, isText)) found.set(id, point);
      }
      if (found.size === ids.length) break;
    }
    return ids.map((id) => {
      const point = found.get(id);
      return point === undefined || point.time < floor ? null : point;
    });
  }

  /** As `latestInPart`; a part that is damaged does not hide the others. */
  async function latestFound(
    part: Part,
    ids: readonly number[],
    isText: ReadonlyMap<number, boolean>,
  ): Promise<[number, LastPoint][]> {
    try {
      return await latestInPart(part, ids, isText);
    } catch (error) {
      if (!isDamage(error)) throw error;
      onFault(part, null, asError(error).message);
      return [];
    }
  }

  /** The last point of each series' newest chunk; of numbers only twelve bytes leave the file. */
  async function latestInPart(
    part: Part,
    ids: readonly number[],
    isText: ReadonlyMap<number, boolean>,
  ): Promise<[number, LastPoint][]> {
    const db = await open(part);
    // Chunks of before there were checksums answer what their data ends with.
    const sql = `select c.series, c.stop, c.tail, case when c.sum is null then substr(c.data, -8) end
      from json_each(?1) j join chunk c on c.id = (select id from chunk where series = j.value
        and stop = (select max(stop) from chunk where series = j.value) order by id desc limit 1)`;
    const { rows } = await whileBusy(() => db.execute({ sql, args: [JSON.stringify(ids)] }));
    const points: [number, LastPoint][] = [];
    for (const row of rows) {
      const series = Number(row[0]);
      const time = Number(row[1]);
      const text = isText.get(series) === true;
      const value = text ? null : lastValue(series, time, row);
      const point = value === null ? await lastPoint(part, series, text) : { time, value };
      if (point !== null) points.push([series, point]);
    }
    return points;
  }

  /** From the chunks themselves: of text, of a chunk without its last value, or where that is damaged. */
  async function lastPoint(part: Part, id: number, text: boolean): Promise<LastPoint | null> {
    const range = { id, text, parts: [part], start: NO_TIME_BELOW, stop: NO_TIME_ABOVE, left: null };
    const { times, values } = await fetchMerged(files, range, null, { newest: 1 });
    const time = times[0];
    const value = values[0];
    return time === undefined || value === undefined ? null : { time, value };
  }

  return {
    read: (args) =>
      inTurn(() =>
        fetchMerged(files, rangeOf(args, args.range.start, args.range.stop), args.memory, args.range),
      ),
    aggregate: (args) => inTurn(() => aggregate(args)),
    extremes: (args) => inTurn(() => extremes(args)),
    latest: (args) => inTurn(() => latest(args)),
    forget: (paths) =>
      inTurn(async () => {
        await opened.close(...paths);
        return null;
      }),
    close: () =>
      inTurn(async () => {
        await opened.closeAll();
        return null;
      }),
  };
}

/** Of a number chunk's row as `latestInPart` asks for it; null where the chunk itself must be looked at. */
function lastValue(series: number, time: number, row: Row): number | null {
  if (row[2] !== null) return openLast(series, time, row[2] as ArrayBuffer);
  const data = row[3];
  return data instanceof ArrayBuffer && data.byteLength === 8 ? (new Float64Array(data)[0] ?? null) : null;
}

/** Points whose result is finite. */
function withResults(
  times: Float64Array,
  values: Float64Array,
): { times: Float64Array; values: Float64Array } {
  // A sum of finite numbers may overflow: then the slow way finds out that nothing is missing.
  const total = values.reduce((sum, value) => sum + value, 0);
  if (Number.isFinite(total)) return { times, values };
  const kept = (_: number, i: number) => Number.isFinite(values[i]);
  return { times: times.filter(kept), values: values.filter(Number.isFinite) };
}
