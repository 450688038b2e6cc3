/** The figures of a tenant, for the overview and its streams. */
import { rateSeconds } from "../../ingest/rates.js";
import type { Db } from "../../store/metadata/db/db.js";
import { countResources, type TenantSizes } from "../../store/metadata/overview.js";
import type { Figures, ReadFigures } from "./figures.js";

export interface OverviewDeps {
  readonly db: Db;
  readonly figures: ReadFigures;
}

export const rateIntervalMs = 1000;

/**
 * @param secondsMax the number of newest seconds to return; absent: all that are known
 * @param sizes numbers of products and groups that are known, and not counted again
 */
export async function createOverview(
  deps: OverviewDeps,
  tenant: number,
  secondsMax?: number,
  sizes?: TenantSizes,
) {
  const [{ currentAlerts, ...counts }, found] = await Promise.all([
    countResources(deps.db, tenant, sizes),
    deps.figures(tenant),
  ]);
  const { rates, lag, commit, disk, truncated } = found;
  const overview = {
    ...counts,
    currentAlerts: {
      total: currentAlerts.reduce((sum, { count }) => sum + count, 0),
      bySeverity: currentAlerts,
    },
    rates: shownRates(found, secondsMax),
    refused: rates?.refused ?? [],
    lag,
    commit,
    disk,
  };
  return { overview, truncated };
}

export function shownRates({ rates, endTime }: Figures, secondsMax = rateSeconds) {
  if (rates === null) return null;
  const messages = rates.messages.slice(-secondsMax);
  return { endTime, intervalMs: rateIntervalMs, messages, points: rates.points.slice(-secondsMax) };
}
