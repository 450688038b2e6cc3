import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import { createAggregation } from "../aggregation.js";
import { computeColumn, computeOne } from "../arithmetic.js";
import { createExtremes } from "../extremes.js";
import type { ArithmeticAnswer } from "../series.js";
import type { Handlers } from "./calls.js";
import type { Part } from "./catalog.js";
import { NO_TIME_ABOVE, NO_TIME_BELOW, type Run } from "./columns.js";
import { fetchMerged, fetchOverlaid } from "./fetch.js";
import { loadChunks, openMonthFileToRead } from "./files.js";
import type { LastPoint, ReaderCalls, SeriesInFiles } from "./protocol.js";
import { whileBusy } from "./sqlite.js";
import { createLock } from "./turns.js";

const CLIENTS_MAX = 32;
const LATEST_AT_ONCE_MAX = 256;

/** What one reader thread answers, one call after the other. */
export function createReader({ dir }: { dir: string }): Handlers<ReaderCalls> {
  // least recently used first
  const clients = new Map<string, Client>();
  const inTurn = createLock();

  async function open(part: Part): Promise<Client> {
    const client = clients.get(part.path) ?? (await openMonthFileToRead(join(dir, part.path)));
    clients.delete(part.path);
    clients.set(part.path, client);
    for (const path of clients.keys()) if (clients.size > CLIENTS_MAX) close(path);
    return client;
  }

  function close(path: string): void {
    clients.get(path)?.close();
    clients.delete(path);
  }

  const rangeOf = (args: SeriesInFiles, start = NO_TIME_BELOW, stop = NO_TIME_ABOVE) => ({
    id: args.id,
    text: args.text,
    parts: args.parts,
    start: Math.max(start, args.floor),
    stop,
  });

  async function aggregate(args: ReaderCalls["aggregate"]["args"]): Promise<ArithmeticAnswer> {
    const { edges, arithmetic } = args;
    const start = edges[0] ?? 0;
    const aggregation = createAggregation(edges, args.aggregate);
    let errors = 0;
    if (args.aggregate === "increase") {
      const before = await pointBefore(args, start);
      const from = before === undefined || arithmetic === null ? before : computeOne(arithmetic, before);
      if (from !== undefined && Number.isFinite(from)) aggregation.startFrom(from);
    }
    for await (const { times, values } of fetchOverlaid(
      open,
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
    for await (const { times, values } of fetchOverlaid(open, range, args.memory)) {
      if (!Array.isArray(values)) thinned.add(times, values);
    }
    return thinned.result();
  }

  async function pointBefore(
    args: ReaderCalls["aggregate"]["args"],
    start: number,
  ): Promise<number | undefined> {
    const range = { ...rangeOf(args, NO_TIME_BELOW, start), parts: args.earlier };
    const stored = await fetchMerged(open, range, null, { newest: 1 });
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
  }: ReaderCalls["latest"]["args"]): Promise<(LastPoint | null)[]> {
    const isText = new Map(ids.map((id, i) => [id, texts[i] === true]));
    const found = new Map<number, LastPoint>();
    let open = [...new Set(ids)].filter((id) => id !== 0);
    for (const part of parts.toReversed()) {
      for (let i = 0; i < open.length; i += LATEST_AT_ONCE_MAX) {
        const some = open.slice(i, i + LATEST_AT_ONCE_MAX);
        for (const [id, point] of await latestInPart(part, some, isText)) found.set(id, point);
      }
      open = open.filter((id) => !found.has(id));
      if (open.length === 0) break;
    }
    return ids.map((id) => {
      const point = found.get(id);
      return point === undefined || point.time < floor ? null : point;
    });
  }

  /** The last point of each series' newest chunk; of numbers only its eight bytes leave the file. */
  async function latestInPart(
    part: Part,
    ids: readonly number[],
    isText: ReadonlyMap<number, boolean>,
  ): Promise<[number, LastPoint][]> {
    const db = await open(part);
    const sql = `select c.series, c.id, c.stop, substr(c.data, -8)
      from json_each(?1) j join chunk c on c.id = (select id from chunk where series = j.value
        and stop = (select max(stop) from chunk where series = j.value) order by id desc limit 1)`;
    const { rows } = await whileBusy(() => db.execute({ sql, args: [JSON.stringify(ids)] }));
    const points: [number, LastPoint][] = [];
    for (const row of rows) {
      const series = Number(row[0]);
      const time = Number(row[2]);
      const value =
        isText.get(series) === true
          ? await lastText(db, Number(row[1]))
          : (new Float64Array(row[3] as ArrayBuffer, 0, 1)[0] ?? 0);
      points.push([series, { time, value }]);
    }
    return points;
  }

  async function lastText(db: Client, id: number): Promise<string> {
    const [chunk] = await loadChunks(db, [{ id }], true);
    return String(chunk?.run.values.at(-1) ?? "");
  }

  return {
    read: (args) =>
      inTurn(() =>
        fetchMerged(open, rangeOf(args, args.range.start, args.range.stop), args.memory, args.range),
      ),
    aggregate: (args) => inTurn(() => aggregate(args)),
    extremes: (args) => inTurn(() => extremes(args)),
    latest: (args) => inTurn(() => latest(args)),
    forget: (paths) =>
      inTurn(async () => {
        for (const path of paths) close(path);
        return null;
      }),
    close: () =>
      inTurn(async () => {
        for (const path of [...clients.keys()]) close(path);
        return null;
      }),
  };
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
