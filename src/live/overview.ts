/** The figures of a tenant, as the overview and its streams tell them. */
import type { Meter } from "../../ingest/meter.js";
import type { Rated } from "../../ingest/rates.js";
import type { Db } from "../../store/metadata/db/db.js";
import { countsOf, type TenantSizes } from "../../store/metadata/overview.js";
import type { Status } from "../observability/status.js";

export interface OverviewDeps {
  readonly db: Db;
  readonly meter: { readonly rates: Pick<Meter["rates"], "of" | "sinceWholeSecondMs"> };
  readonly status: Pick<Status, "figures">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export const rateIntervalMs = 1000;

/**
 * @param secondsMax the newest seconds that are told of; absent: all that are known
 * @param sizes what need not be counted again
 */
export async function overviewOf(
  deps: OverviewDeps,
  tenant: number,
  secondsMax?: number,
  sizes?: TenantSizes,
) {
  const { currentAlerts, ...counts } = await countsOf(deps.db, tenant, sizes);
  const rated = deps.meter.rates.of(tenant);
  const { lag, commit, disk } = deps.status.figures();
  return {
    ...counts,
    currentAlerts: {
      total: currentAlerts.reduce((sum, { count }) => sum + count, 0),
      bySeverity: currentAlerts,
    },
    rates: rated === null ? null : shownRates(rated, deps, secondsMax),
    refused: rated?.refused ?? [],
    lag,
    commit,
    disk,
  };
}

export function shownRates(
  { messages, points }: Rated,
  { meter, now }: Pick<OverviewDeps, "now" | "meter">,
  secondsMax = messages.length,
) {
  return {
    endTime: Math.round(now() - meter.rates.sinceWholeSecondMs),
    intervalMs: rateIntervalMs,
    messages: messages.slice(-secondsMax),
    points: points.slice(-secondsMax),
  };
}
