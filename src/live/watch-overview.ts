import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import type { TenantSizes } from "../../store/metadata/overview.js";
import { createOverview, type OverviewDeps } from "./overview.js";
import type { Watched } from "./watched.js";

interface Seen {
  /** Milliseconds of a monotonic clock. */
  toldAt: number;
  sizes: TenantSizes | undefined;
  sizedAt: number;
}

/** How often a tenant's figures are sent: they are counted once for all of its streams. */
const sendEveryMs = 1_000;
/** Products and groups are counted row by row: not each time. */
const sizesMs = 15_000;
/** Looks come a little early or late. */
const earlyMs = 100;
/** Seconds of the rates that one event has: a client that has missed a few events still has all of them. */
const overviewSeconds = 10;

export function overviewWatched(
  deps: OverviewDeps & { readonly feed: Pick<TenantFeed, "tell"> },
  monotonic: () => number = () => performance.now(),
): Watched<Seen> {
  return {
    topic: "overview",
    begin: async () => ({ toldAt: Number.NEGATIVE_INFINITY, sizes: undefined, sizedAt: 0 }),
    look: async (tenant, seen) => {
      const at = monotonic();
      if (at - seen.toldAt < sendEveryMs - earlyMs) return;
      const known = at - seen.sizedAt < sizesMs ? seen.sizes : undefined;
      const { overview, truncated } = await createOverview(deps, tenant, overviewSeconds, known);
      seen.toldAt = at;
      if (known === undefined) {
        const { products, groups } = overview;
        Object.assign(seen, { sizes: { products, groups }, sizedAt: at });
      }
      const shown = truncated ? { ...overview, truncated } : overview;
      deps.feed.tell(tenant, { topic: "overview", figures: JSON.stringify(shown) });
    },
  };
}
