/** Watches alerts, commands and the overview's figures for tenants with streams, and publishes the changes to these. */
import type { LiveTopic } from "../../ingest/live/tenant-events.js";
import { every } from "../background/every.js";
import type { Logger } from "../observability/log.js";
import type { OverviewDeps } from "./overview.js";
import { alertsWatched } from "./watch-alerts.js";
import { commandsWatched } from "./watch-commands.js";
import { overviewWatched } from "./watch-overview.js";
import type { WatchDeps, Watched } from "./watched.js";

export interface LiveWatch {
  /** Resolves once all later changes of these topics will reach the tenant's streams. */
  begin(tenant: number, topics: readonly LiveTopic[]): Promise<void>;
  close(): Promise<void>;
}

const lookMs = 500;
export function createLiveWatch({
  log,
  ...deps
}: WatchDeps & OverviewDeps & { readonly log: Logger }): LiveWatch {
  const parts = [
    createPart(deps, alertsWatched(deps)),
    createPart(deps, commandsWatched(deps)),
    createPart(deps, overviewWatched(deps)),
  ];
  // Each has a job of its own: one that is slow, or fails, does not hold up the others.
  const jobs = parts.map((part) =>
    every(lookMs, `look for ${part.topic} that live streams are told`, log, part.look),
  );
  return {
    begin: async (tenant, topics) => {
      for (const part of parts) if (topics.includes(part.topic)) await part.begin(tenant);
    },
    close: async () => {
      await Promise.all(jobs.map((job) => job.stop()));
    },
  };
}

function createPart<Seen>({ feed }: WatchDeps, { topic, begin, look }: Watched<Seen>) {
  const tenants = new Map<number, Promise<Seen>>();

  function seenBy(tenant: number): Promise<Seen> {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    const beginning = begin(tenant);
    tenants.set(tenant, beginning);
    beginning.catch(() => tenants.delete(tenant));
    return beginning;
  }

  return {
    topic,
    begin: seenBy,
    /**
     * One tenant after the other: however many have streams, one query is under way. @throws what went wrong with
     * the first, once all have had their turn
     */
    look: async () => {
      const wanting = new Set(feed.tenantsOf(topic));
      for (const tenant of [...tenants.keys()]) if (!wanting.has(tenant)) tenants.delete(tenant);
      const failures: unknown[] = [];
      for (const tenant of wanting) {
        await seenBy(tenant)
          .then((seen) => look(tenant, seen))
          .catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
