import { join } from "node:path";
import type { Db } from "../../store/metadata/db/db.js";
import { type LibsqlSeriesOptions, openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { Config } from "../config/config.js";
import type { Status } from "../observability/status.js";
import { type InfluxListeners, openInfluxServers } from "./influx-servers.js";

/** Half of what the engine would take, because the process must stay below 400 MB. */
const embeddedMemtablePointsMax = 500_000;

/** Called when the series store has trouble. Only the embedded engine reports damage, and points lost with it. */
interface SeriesListeners extends InfluxListeners, Pick<LibsqlSeriesOptions, "onDamage" | "onGap"> {
  /** Called when the embedded engine cannot go on. */
  readonly fatal: (error: Error) => void;
}

/** The engine that the settings name. @throws ConfigError if the deployment's points are in other InfluxDBs */
export async function openSeries(config: Config, db: Db, listeners: SeriesListeners): Promise<SeriesStore> {
  if (config.influx === null) {
    return openLibsqlSeriesStore({
      dir: join(config.dataDir, "series"),
      memtablePointsMax: embeddedMemtablePointsMax,
      onFailure: listeners.fatal,
      ...(listeners.onDamage === undefined ? {} : { onDamage: listeners.onDamage }),
      ...(listeners.onGap === undefined ? {} : { onGap: listeners.onGap }),
    });
  }
  return openInfluxServers(config, config.influx, db, listeners);
}

/** The store as the consumers of one shard's journal use it. */
export function ofShard(series: SeriesStore, shard: number): SeriesStore {
  return {
    ...series,
    checkpoint: () => series.checkpoint(shard),
    write: (points, through) => series.write(points, through, shard),
  };
}

/** The store with its writes timed for the histogram. */
export function measureTime(series: SeriesStore, status: Pick<Status, "observeWrite">): SeriesStore {
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
