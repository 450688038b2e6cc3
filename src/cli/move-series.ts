/** `tidemark move-series`: takes the points of a deployment from one engine to the other. */
import { parseArgs } from "node:util";
import { systemClock } from "../../store/lib/clock.js";
import type { Db } from "../../store/metadata/db/db.js";
import { countSeriesOwners, seriesOwners } from "../../store/metadata/devices/owners.js";
import { dataPointsOf, kindOf } from "../../store/metadata/products/data-points.js";
import {
  type MovedDevice,
  movePoints,
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
  /** What was found damaged since it was opened. */
  readonly damage: readonly string[];
}

interface Move {
  readonly db: Db;
  readonly dataDir: string;
  readonly from: OpenEngine;
  readonly to: OpenEngine;
  readonly signal: AbortSignal;
}

const devicesAtOnce = 200;
const saveEveryMs = 2000;
const toldMax = 100;

/**
 * Holds the folder: no service runs meanwhile. What both engines have stays as the target has it. Afterwards the source
 * is emptied, unless something is not in the target or the source is to be kept.
 */
export async function moveSeriesTool(args: readonly string[], config: Config): Promise<unknown> {
  const { target, isKept } = optionsOf(args);
  const stopping = new AbortController();
  process.once("SIGINT", () =>
    stopping.abort(new Error("interrupted: run it again, and it goes on from there")),
  );
  return withEngines(config, async (db, { embedded, influxdb }) => {
    const [from, to] = target === "influxdb" ? [embedded, influxdb] : [influxdb, embedded];
    const move = { db, dataDir: config.dataDir, from, to, signal: stopping.signal };
    const { counts, checkpoint, notMoved } = await copyAll(move);
    const faults = [...from.damage, ...notMoved];
    // What the source has of the journal the target has too: the service goes on after it.
    await to.store.write([], checkpoint);
    await to.store.flush();
    const isEmptied = faults.length === 0 && !isKept;
    if (isEmptied) await empty(move);
    await forgetUnfinishedMove(config.dataDir);
    if (faults.length > 0) process.exitCode = 1;
    const next = target === "influxdb" ? "with" : "without";
    return {
      from: from.name,
      to: to.name,
      ...counts,
      checkpoint,
      notMoved: faults.slice(0, toldMax),
      source: isEmptied ? "emptied" : "kept",
      next: `start the service ${next} INFLUX_URL`,
    };
  });
}

function optionsOf(args: readonly string[]): { target: "embedded" | "influxdb"; isKept: boolean } {
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
  const closers: (() => Promise<void> | void)[] = [];
  try {
    const lock = await lockDataDir(config.dataDir, { onLost: endTool });
    closers.unshift(() => lock.release());
    const db = await openMetadata(config);
    closers.unshift(() => db.close());
    const embedded = await openEngine({ ...config, influx: null }, db, "embedded");
    closers.unshift(() => embedded.store.close());
    const influxdb = await openEngine(config, db, `bucket ${influx.bucket} of ${influx.url}`);
    closers.unshift(() => influxdb.store.close());
    return await action(db, { embedded, influxdb });
  } finally {
    for (const close of closers) await close();
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
  });
  return { name, store, damage };
}

/** Copies everything, from where an earlier run has come to. */
async function copyAll(move: Move): Promise<Pick<UnfinishedMove, "counts" | "checkpoint" | "notMoved">> {
  const { db, dataDir, from, to, signal } = move;
  const ends = { from: from.name, to: to.name };
  const earlier = await readUnfinishedMove(dataDir);
  const isSame = earlier !== null && earlier.from === ends.from && earlier.to === ends.to;
  const begun: UnfinishedMove = isSame
    ? earlier
    : { ...ends, checkpoint: await from.store.checkpoint(), upTo: 0, counts: noCounts, notMoved: [] };
  const { checkpoint } = begun;
  const all = await countSeriesOwners(db);
  const notMoved = [...begun.notMoved];
  let savedAt = 0;
  const counts = await movePoints(
    {
      from: from.store,
      to: to.store,
      devices: devicesOf(db, begun.upTo),
      signal,
      moved: async (upTo, counted, missing) => {
        for (const one of missing) if (notMoved.length < toldMax) notMoved.push(told(one));
        if (performance.now() - savedAt < saveEveryMs) return;
        await saveUnfinishedMove(dataDir, { ...ends, checkpoint, upTo, counts: counted, notMoved });
        process.stderr.write(`${counted.devices} of ${all} devices, ${counted.points} points\n`);
        savedAt = performance.now();
      },
    },
    begun.counts,
  );
  return { counts, checkpoint, notMoved };
}

async function* devicesOf(db: Db, after: number): AsyncGenerator<MovedDevice[]> {
  for await (const owners of seriesOwners(db, after, devicesAtOnce)) {
    const products = new Map(
      await Promise.all(
        [...new Set(owners.map(({ productIntID }) => productIntID))].map(
          async (id) => [id, await dataPointsOf(db, id)] as const,
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
        kind: kindOf(pointDataType),
      })),
    }));
  }
}

async function empty({ db, from }: Move): Promise<void> {
  for await (const owners of seriesOwners(db, 0, devicesAtOnce)) await from.store.removeDevices(owners);
  await from.store.flush();
}

const told = ({ series: { deviceID, field }, reason }: NotMoved): string => `${deviceID} ${field}: ${reason}`;
