import { join } from "node:path";
import { readCheckpoint, saveCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Db } from "../../store/metadata/db/db.js";
import { openInfluxLedger } from "../../store/metadata/influx-ledger.js";
import { type LibsqlSeriesOptions, openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import type { InfluxState } from "../../store/series/influx/health.js";
import { type InfluxSeriesOptions, openInfluxSeriesStore } from "../../store/series/influx/open.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import type { Status } from "../observability/status.js";

/** Half of what the engine would take, because the process must stay below 400 MB. */
const embeddedMemtablePointsMax = 500_000;
const seriesConsumer = "series";

/** Called when the series store has trouble. Only the embedded engine reports damage, and points lost with it. */
interface SeriesListeners extends Pick<LibsqlSeriesOptions, "onDamage" | "onGap"> {
  /** Called when the embedded engine cannot go on. */
  readonly fatal: (error: Error) => void;
  readonly log: Logger;
  /** Notes a part's trouble, or that it has none (null). */
  readonly note: (part: string, trouble: string | null) => void;
}

/** The engine that the settings name. */
export function openSeries(config: Config, db: Db, listeners: SeriesListeners): Promise<SeriesStore> {
  if (config.influx === null) {
    return openLibsqlSeriesStore({
      dir: join(config.dataDir, "series"),
      memtablePointsMax: embeddedMemtablePointsMax,
      onFailure: listeners.fatal,
      ...(listeners.onDamage === undefined ? {} : { onDamage: listeners.onDamage }),
      ...(listeners.onGap === undefined ? {} : { onGap: listeners.onGap }),
    });
  }
  return openInfluxSeriesStore({
    ...config.influx,
    ...influxListeners(config.influx.bucket, listeners),
    firstShard: config.ownShards?.[0] ?? config.nodeNumber,
    ledger: openInfluxLedger(db, config.influx),
    checkpoint: (shard) => ({
      read: () => readCheckpoint(db, shard, seriesConsumer),
      write: async (id) => {
        await db.write([saveCheckpoint(shard, seriesConsumer, id)]);
      },
    }),
  });
}

/** The name under which /readyz shows the trouble. Writes share theirs with the consumer that makes them. */
const parts: Readonly<Record<InfluxState["way"], string>> = { writes: "series", queries: "series_queries" };

/** Each change is logged once, and /readyz names a trouble as long as it lasts. */
function influxListeners(
  bucket: string,
  { log, note }: SeriesListeners,
): Required<Pick<InfluxSeriesOptions, "onState" | "onBucketMade" | "onConflict">> {
  return {
    onState: ({ way, trouble, message, awayMs }) => {
      note(parts[way], trouble === null ? null : message);
      if (trouble === null) log.info(`InfluxDB serves ${way} again`, { bucket, awayMs });
      else log.warn(`InfluxDB serves no ${way}`, { bucket, trouble, reason: message });
    },
    onBucketMade: (again) => {
      if (!again) return log.info("InfluxDB: the bucket was missing and has been made", { bucket });
      const lost = "its points are lost; tidemark resettle writes those of kept events again";
      log.error(`InfluxDB: the bucket was gone and has been made again, empty: ${lost}`, { bucket });
    },
    onConflict: ({ productID, field, shard, stop, heldAs }, ended, all) => {
      const names = [...new Set(all.map((one) => `"${one.field}" of measurement "${one.productID}"`))];
      const what = `bucket "${bucket}" holds values of another type, not ours, in field ${names.join(", ")}`;
      note("series_fields", all.length === 0 ? null : what);
      const where = { bucket, measurement: productID, field, from: isoOf(shard), to: isoOf(stop) };
      if (ended !== null) {
        log.info("InfluxDB: nothing of another type is in a field any more", { ...where, because: ended });
      } else
        log.error("InfluxDB refuses the points of a field: something else has written it", {
          ...where,
          heldAs,
        });
    },
  };
}

const isoOf = (micros: number): string => new Date(micros / 1000).toISOString();

/** The store as the consumers of one shard's journal use it. */
export function ofShard(series: SeriesStore, shard: number): SeriesStore {
  return {
    ...series,
    checkpoint: () => series.checkpoint(shard),
    write: (points, through) => series.write(points, through, shard),
  };
}

/** The store with its writes timed for the histogram. */
export function timed(series: SeriesStore, status: Pick<Status, "observeWrite">): SeriesStore {
  return {
    ...series,
    write: async (points, through) => {
      const startedAt = performance.now();
      const refused = await series.write(points, through);
      status.observeWrite((performance.now() - startedAt) / 1000);
      return refused;
    },
  };
}
