import { join } from "node:path";
import { readCheckpoint, saveCheckpoint } from "../../store/checkpoints.js";
import type { Db } from "../../store/db.js";
import type { SeriesStore } from "../../store/series.js";
import { openInfluxSeriesStore } from "../../store/series-influx.js";
import { openLibsqlSeriesStore } from "../../store/series-libsql.js";
import type { Config } from "../config.js";
import type { Status } from "../status.js";

/** Half of what the engine would take: the process is to stay below 400 MB. */
const embeddedMemtablePointsMax = 500_000;
const seriesConsumer = "series";

/** The engine that the settings name. `fatal` is called when the embedded one cannot go on. */
export function openSeries(config: Config, db: Db, fatal: (error: Error) => void): Promise<SeriesStore> {
  if (config.influx === null) {
    return openLibsqlSeriesStore({
      dir: join(config.dataDir, "series"),
      memtablePointsMax: embeddedMemtablePointsMax,
      onFailure: fatal,
    });
  }
  const node = config.nodeNumber;
  return openInfluxSeriesStore({
    ...config.influx,
    nodeNumber: node,
    checkpoint: {
      read: () => readCheckpoint(db, node, seriesConsumer),
      write: async (id) => {
        await db.write([saveCheckpoint(node, seriesConsumer, id)]);
      },
    },
  });
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
