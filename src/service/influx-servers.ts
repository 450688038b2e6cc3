/** The InfluxDBs that the settings name, as one store. */
import { readCheckpoint, saveCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Db } from "../../store/metadata/db/db.js";
import { findTopmost } from "../../store/metadata/devices/topmost.js";
import { openInfluxLedger } from "../../store/metadata/influx-ledger.js";
import { keepInfluxBucket, keepInfluxCount, keepInfluxShards } from "../../store/metadata/influx-list.js";
import { type InfluxState, InfluxUnavailable } from "../../store/series/influx/health.js";
import { type InfluxSeriesOptions, openInfluxSeriesStore } from "../../store/series/influx/open.js";
import type { SeriesStore } from "../../store/series/series.js";
import { createShardedSeries } from "../../store/series/sharded/open.js";
import type { SeriesPlaces } from "../../store/series/sharded/places.js";
import { type Config, ConfigError } from "../config/config.js";
import type { InfluxSettings } from "../config/influx.js";
import type { Logger } from "../observability/log.js";
import type { Status } from "../observability/status.js";

export interface InfluxListeners extends Pick<Status, "note"> {
  readonly log: Logger;
}

const seriesConsumer = "series";

/** @throws ConfigError if the list is another than the one that has the deployment's points */
export async function openInfluxServers(
  config: Config,
  { servers, ...where }: InfluxSettings,
  db: Db,
  { log, note }: InfluxListeners,
): Promise<SeriesStore> {
  const known = await keepInfluxCount(db, servers.length);
  if (known !== servers.length)
    throw new ConfigError([
      `INFLUX_URL: names ${inWords(servers.length)}, and the deployment's points are in ${inWords(known)}: their number is for good`,
    ]);
  const isOne = servers.length === 1;
  if (!isOne) await keepInfluxShards(db, config.shards.length);
  const wrong: string[] = [];
  const stores: SeriesStore[] = [];
  const opened = servers.map(async ({ url, token }, place) => {
    const listeners = influxListeners(isOne ? where : { ...where, url }, { log, note });
    stores[place] = await openInfluxSeriesStore({
      ...where,
      url,
      token,
      ...listeners,
      ...(isOne ? {} : { onBucketFound: bucketWatch({ db, log, url, place }, (why) => wrong.push(why)) }),
      firstShard: config.ownShards?.[0] ?? config.nodeNumber,
      ledger: openInfluxLedger(db, where, place),
      checkpoint: (shard) => ({
        read: () => readCheckpoint(db, shard, seriesConsumer),
        write: async (id) => {
          await db.write([saveCheckpoint(shard, seriesConsumer, id)]);
        },
      }),
    });
  });
  await Promise.all(opened);
  const store =
    stores.length === 1
      ? stores[0]
      : createShardedSeries(stores, createSeriesPlaces(config, servers.length, db));
  if (store === undefined) throw new RangeError("a list of no InfluxDB");
  if (wrong.length === 0) return store;
  await store.close();
  throw new ConfigError([...new Set(wrong)]);
}

const inWords = (count: number): string => (count === 1 ? "one InfluxDB" : `${count} InfluxDBs`);

/** Points of a shard are in the InfluxDB of its place among all shards, which go round. */
function createSeriesPlaces({ shards }: Pick<Config, "shards">, count: number, db: Db): SeriesPlaces {
  const all = Array.from({ length: count }, (_, place) => place);
  const ofShard = (shard: number): number => Math.max(0, shards.indexOf(shard)) % count;
  return {
    ofShard,
    ofDevices: async (devices) => {
      const found = await findTopmost(db, [...new Set(devices.map(({ deviceID }) => deviceID))]);
      return devices.map(({ deviceID }) => {
        const topmost = found.get(deviceID);
        // Nobody knows any more where it was.
        if (topmost === undefined) return all;
        const now = ofShard(shards[topmost.id % shards.length] ?? 0);
        return topmost.hasMoved ? [now, ...all.filter((place) => place !== now)] : [now];
      });
    },
  };
}

/** Learns which bucket an InfluxDB has. Nothing is asked of one that is known from another place of the list. */
function bucketWatch(
  {
    db,
    log,
    url,
    place,
  }: { readonly db: Db; readonly log: Logger; readonly url: string; readonly place: number },
  onWrong: (why: string) => void,
): (id: string) => Promise<void> {
  return async (id) => {
    const savedBucket = await keepInfluxBucket(db, place, id);
    if (savedBucket.place !== place) {
      const why = `${url} has the points of number ${savedBucket.place + 1} of the list, not of number ${place + 1}`;
      onWrong(`INFLUX_URL: ${why}: their order is for good`);
      throw new InfluxUnavailable("bucket", `cannot use InfluxDB: ${why}`);
    }
    if (savedBucket.before !== null && savedBucket.before !== id)
      log.warn("InfluxDB: another bucket than before", { url, before: savedBucket.before, now: id });
  };
}

/** The name under which /readyz shows the trouble. Writes share theirs with the consumer that makes them. */
const parts: Readonly<Record<InfluxState["way"], string>> = { writes: "series", queries: "series_queries" };

/**
 * Each change is logged once, and /readyz names a trouble as long as it lasts. `url`: which it is, where there are
 * several.
 */
function influxListeners(
  { bucket, url }: { readonly bucket: string; readonly url?: string },
  { log, note }: InfluxListeners,
): Required<Pick<InfluxSeriesOptions, "onState" | "onBucketMade" | "onConflict">> {
  const which = { bucket, ...(url === undefined ? {} : { url }) };
  const named = (trouble: string): string => (url === undefined ? trouble : `${url}: ${trouble}`);
  return {
    onState: ({ way, trouble, message, awayMs }) => {
      note(parts[way], trouble === null ? null : named(message), url);
      if (trouble === null) log.info(`InfluxDB serves ${way} again`, { ...which, awayMs });
      else log.warn(`InfluxDB serves no ${way}`, { ...which, trouble, reason: message });
    },
    onBucketMade: (again) => {
      if (!again) return log.info("InfluxDB: the bucket was missing and has been made", which);
      const lost = "its points are lost; tidemark resettle writes those of kept events again";
      log.error(`InfluxDB: the bucket was gone and has been made again, empty: ${lost}`, which);
    },
    onConflict: ({ productID, field, shard, stop, heldAs }, ended, all) => {
      const names = [...new Set(all.map((one) => `"${one.field}" of measurement "${one.productID}"`))];
      const what = `bucket "${bucket}" holds values of another type, not ours, in field ${names.join(", ")}`;
      note("series_fields", all.length === 0 ? null : named(what), url);
      const at = { ...which, measurement: productID, field, from: formatISO(shard), to: formatISO(stop) };
      if (ended !== null) {
        log.info("InfluxDB: nothing of another type is in a field any more", { ...at, because: ended });
      } else
        log.error("InfluxDB refuses the points of a field: something else has written it", {
          ...at,
          heldAs,
        });
    },
  };
}

const formatISO = (micros: number): string => new Date(micros / 1000).toISOString();
