import { createSeriesRefs, type SeriesRefs } from "../../query/series-refs.js";
import { systemClock } from "../../store/lib/clock.js";
import type { Db } from "../../store/metadata/db/db.js";
import { listTenants } from "../../store/metadata/users/tenants.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { Config } from "../config/config.js";
import { endTool, lockDataDir } from "../host/lock.js";
import { openMetadata } from "../host/metadata.js";
import { createLogger } from "../observability/log.js";
import { openSeries } from "../service/series.js";

interface OpenStores {
  readonly db: Db;
  readonly series: SeriesStore;
  readonly refs: SeriesRefs;
  readonly tenant: number;
}

/**
 * Opens the stores of a deployment whose service is not running, for one action. The data folder stays locked until it
 * ends.
 */
export async function withStores<T>(
  config: Config,
  tenantName: string | undefined,
  action: (stores: OpenStores) => Promise<T>,
): Promise<T> {
  const lock = await lockDataDir(config.dataDir, { onLost: endTool });
  try {
    const db = await openMetadata(config);
    try {
      const tenant = await findTenant(db, tenantName);
      let failure: Error | null = null;
      const series = await openSeries(config, db, {
        fatal: (error) => {
          failure = error;
        },
        log: createLogger("warn", (line) => process.stderr.write(line), systemClock.now),
        note: () => undefined,
        onDamage: ({ file, what }) => process.stderr.write(`tidemark: damage: ${file}: ${what}\n`),
      });
      try {
        return await action({ db, series, refs: createSeriesRefs(), tenant });
      } finally {
        if (failure === null) await series.close();
      }
    } finally {
      await db.close();
    }
  } finally {
    await lock.release();
  }
}

async function findTenant(db: Db, name = "default"): Promise<number> {
  const tenants = await listTenants(db);
  if (tenants.length === 0) throw new Error("the deployment is empty: start the service first");
  const found = tenants.find(({ tenantName }) => tenantName === name);
  if (found === undefined) throw new Error(`there is no tenant ${name}`);
  return found.id;
}
