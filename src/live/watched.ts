/** What the watches of alerts and commands share. */
import type { LiveTopic } from "../../ingest/live/tenant-events.js";
import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import type { Db } from "../../store/metadata/db/db.js";

export interface WatchDeps {
  readonly db: Db;
  readonly feed: Pick<TenantFeed, "tenantsOf" | "tell">;
}

/** How one topic of a tenant is watched: from what is there at the beginning, look by look. */
export interface Watched<Seen> {
  readonly topic: LiveTopic;
  begin(tenant: number): Promise<Seen>;
  look(tenant: number, seen: Seen): Promise<void>;
}

/** New rows that one look at a tenant reads; the next look goes on after them. */
export const rowsPerLook = 1_000;
/** Current alerts, and commands that wait for a receipt, whose end is looked for: the newest of a tenant. */
export const watchedMax = 1_000;

export function keepOnly(set: Set<number>, ids: readonly number[]): void {
  set.clear();
  for (const id of ids) set.add(id);
}

/** The oldest gives way. */
export function addBounded(set: Set<number>, id: number): void {
  set.add(id);
  const [oldest] = set;
  if (set.size > watchedMax && oldest !== undefined) set.delete(oldest);
}
