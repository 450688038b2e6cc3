/** `tidemark move-series`: takes the points of a deployment from one engine to the other. */
import { parseArgs } from "node:util";
import { systemClock } from "../../store/lib/clock.js";
import { createClosers } from "../../store/lib/closers.js";
import type { Db } from "../../store/metadata/db/db.js";
import { countSeriesOwners, seriesOwners } from "../../store/metadata/devices/owners.js";
import { forgetInfluxList } from "../../store/metadata/influx-list.js";
import { listProductDataPoints, toSeriesKind } from "../../store/metadata/products/data-points.js";
import { newestRemoval } from "../../store/metadata/removals.js";
import {
  compareStores,
  copyPoints,
  type MoveCounts,
  type MovedDevice,
  type NotMoved,
  noCounts,
} from "../../store/series/move/move-points.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { Config } from "../config/config.js";
import { endTool, lockDataDir } from "../host/lock.js";
import { openMetadata } from "../host/metadata.js";
import {
  forgetUnfinishedMove,
  readUnfinishedMove,
  saveUnfinishedMove,
  type UnfinishedMove,
} from "../host/unfinished-move.js";
import { createLogger } from "../observability/log.js";
import { openSeries } from "../service/series.js";

export const moveSeriesUsage = "tidemark move-series --to influxdb|embedded [--keep]";

interface OpenEngine {
  readonly name: string;
  readonly store: SeriesStore;
  /** The damage that was found, and what was lost with it. */
  readonly damage: readonly string[];
}

interface Move {
  readonly db: Db;
  readonly dataDir: string;
  readonly shards: readonly number[];
  readonly from: OpenEngine;
  readonly to: OpenEngine;
  readonly signal: AbortSignal;
}

const devicesAtOnce = 200;
const saveEveryMs = 2000;
const listedMax = 100;

/**
 * Locks the folder, so that no service runs. Points that both engines have stay as the target has them. Afterwards each
 * point of the source is looked up in the target. Only if nothing is missing and nothing was damaged, the source is
 * emptied, unless it is to be kept.
 */
export async function moveSeriesTool(args: readonly string[], config: Config): Promise<unknown> {
  const { target, isKept } = parseOptions(args);
  if (target === "embedded" && !isKept && config.libsql !== null) {
    throw new Error("with LIBSQL_URL other processes may use the bucket, which would be emptied: add --keep");
  }
  const stopping = new AbortController();
  process.once("SIGINT", () =>
    stopping.abort(new Error("interrupted: run it again, and it goes on from there")),
  );
  return withEngines(config, async (db, { embedded, influxdb }) => {
    if ((await newestRemoval(db)) > 0) {
      throw new Error("points of deleted devices are still being removed: let the service finish that first");
    }
    const [from, to] = target === "influxdb" ? [embedded, influxdb] : [influxdb, embedded];
    const move = { db, dataDir: config.dataDir, shards: config.shards, from, to, signal: stopping.signal };
    const { counts, checkpoints, points, missing } = await copyAndCheck(move);
    const faults = [...from.damage, ...missing];
    const isWhole = faults.length === 0;
    if (isWhole) {
      // What the source has of each journal the target has too: the service goes on after it.
      for (const checkpoint of checkpoints) await to.store.write([], checkpoint);
      await to.store.flush();
      if (target === "embedded") await forgetInfluxList(db);
    } else process.exitCode = 1;
    const isEmptied = isWhole && !isKept;
    if (isEmptied) await empty(move);
    await forgetUnfinishedMove(config.dataDir);
    return {
      from: from.name,
      to: to.name,
      ...counts,
      points,
      checkpoints: isWhole ? checkpoints : null,
      missing: faults.slice(0, listedMax),
      source: isEmptied ? "emptied" : "kept",
      next: isWhole
        ? `start the service ${target === "influxdb" ? "with" : "without"} INFLUX_URL`
        : "the target lacks what is named as missing: see to that, and run this again",
    };
  });
}

function parseOptions(args: readonly string[]): { target: "embedded" | "influxdb"; isKept: boolean } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { to: { type: "string" }, keep: { type: "boolean", default: false } },
  });
  const target = values.to;
  if (positionals.length > 0 || (target !== "embedded" && target !== "influxdb")) {
    throw new Error(`usage: ${moveSeriesUsage}`);
  }
  return { target, isKept: values.keep };
}

/** Opens both engines and the metadata for one action, and closes what has been opened. */
async function withEngines<T>(
  config: Config,
  action: (db: Db, engines: { readonly embedded: OpenEngine; readonly influxdb: OpenEngine }) => Promise<T>,
): Promise<T> {
  const { influx } = config;
  if (influx === null)
    throw new Error("INFLUX_URL and what belongs to it must be set: they name the other engine");
  const closers = createClosers();
  try {
    const lock = await lockDataDir(config.dataDir, { onLost: endTool });
    closers.add(() => lock.release());
    const db = await openMetadata(config);
    closers.add(() => db.close());
    const embedded = await openEngine({ ...config, influx: null }, db, "embedded");
    closers.add(() => embedded.store.close());
    const urls = influx.servers.map(({ url }) => url).join(", ");
    const influxdb = await openEngine(config, db, `bucket ${influx.bucket} of ${influx.org}, ${urls}`);
    closers.add(() => influxdb.store.close());
    return await action(db, { embedded, influxdb });
  } finally {
    await closers.close();
  }
}

async function openEngine(config: Config, db: Db, name: string): Promise<OpenEngine> {
  const damage: string[] = [];
  const store = await openSeries(config, db, {
    // Nothing that is in memory then can be made durable, and what has been saved says where to go on.
    fatal: endTool,
    log: createLogger("warn", (line) => process.stderr.write(line), systemClock.now),
    note: () => undefined,
    onDamage: ({ file, what }) => damage.push(`${file}: ${what}`),
    onGap: async ({ start, stop }) => {
      damage.push(`points between ${formatISO(start)} and ${formatISO(stop)} were lost; ${howToRepair}`);
      // It stays on record: the service fills it.
      throw new Error("a gap is not filled by a move");
    },
  });
  return { name, store, damage };
}

const howToRepair = "the service writes them again from messages that are kept: start it on this engine once";
const formatISO = (micros: number): string => new Date(micros / 1000).toISOString();

interface Checked {
  readonly counts: MoveCounts;
  /** The checkpoint of the source for each shard, when the move began. */
  readonly checkpoints: readonly number[];
  /** The number of the source's points: each was looked up in the target. */
  readonly points: number;
  readonly missing: readonly string[];
}

/** What an earlier run has copied is believed only as far as the target still has it. */
async function copyAndCheck(move: Move): Promise<Checked> {
  const earlier = await readUnfinished(move);
  const copied = await copyAll(move, earlier ?? (await begin(move)));
  const checked = { ...copied, ...(await checkAll(move)) };
  if (earlier === null || checked.missing.length === 0) return checked;
  return { ...(await copyAll(move, await begin(move))), ...(await checkAll(move)) };
}

async function readUnfinished({ dataDir, from, to }: Move): Promise<UnfinishedMove | null> {
  const found = await readUnfinishedMove(dataDir);
  return found !== null && found.from === from.name && found.to === to.name ? found : null;
}

/** A new move, which is all that is known of any from now on. */
async function begin({ dataDir, shards, from, to }: Move): Promise<UnfinishedMove> {
  const checkpoints = await Promise.all(shards.map((shard) => from.store.checkpoint(shard)));
  const begun = { from: from.name, to: to.name, checkpoints, upTo: 0, counts: noCounts };
  await saveUnfinishedMove(dataDir, begun);
  return begun;
}

async function copyAll(move: Move, begun: UnfinishedMove): Promise<Pick<Checked, "counts" | "checkpoints">> {
  const { db, dataDir, from, to, signal } = move;
  const all = await countSeriesOwners(db);
  let savedAt = performance.now();
  const counts = await copyPoints(
    {
      from: from.store,
      to: to.store,
      devices: listDevices(db, begun.upTo),
      signal,
      copied: async (upTo, counts) => {
        if (performance.now() - savedAt < saveEveryMs) return;
        await saveUnfinishedMove(dataDir, { ...begun, upTo, counts });
        process.stderr.write(`copied: ${counts.devices} of ${all} devices, ${counts.points} points\n`);
        savedAt = performance.now();
      },
    },
    begun.counts,
  );
  return { counts, checkpoints: begun.checkpoints };
}

async function checkAll(move: Move): Promise<Pick<Checked, "points" | "missing">> {
  const { db, from, to, signal } = move;
  const missing: string[] = [];
  process.stderr.write("looking for each point in the target\n");
  const points = await compareStores({
    from: from.store,
    to: to.store,
    devices: listDevices(db, 0),
    signal,
    checked: (found) => {
      for (const one of found) if (missing.length < listedMax) missing.push(formatNotMoved(one));
    },
  });
  return { points, missing };
}

async function* listDevices(db: Db, after: number): AsyncGenerator<MovedDevice[]> {
  for await (const owners of seriesOwners(db, after, devicesAtOnce)) {
    const products = new Map(
      await Promise.all(
        [...new Set(owners.map(({ productIntID }) => productIntID))].map(
          async (id) => [id, await listProductDataPoints(db, id)] as const,
        ),
      ),
    );
    yield owners.map(({ id, tenant, deviceID, productID, productIntID }) => ({
      id,
      series: (products.get(productIntID) ?? []).map(({ field, pointDataType }) => ({
        tenant,
        productID,
        deviceID,
        field,
        kind: toSeriesKind(pointDataType),
      })),
    }));
  }
}

async function empty({ db, from }: Move): Promise<void> {
  for await (const owners of seriesOwners(db, 0, devicesAtOnce)) await from.store.removeDevices(owners);
  await from.store.flush();
}

const formatNotMoved = ({ series: { deviceID, field }, reason }: NotMoved): string =>
  `${deviceID} ${field}: ${reason}`;
