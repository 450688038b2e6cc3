/** What tenants with streams are told that is looked for: alerts, commands, the figures of the overview. */
import type { LiveTopic } from "../../ingest/live/tenant-events.js";
import { every } from "../background/every.js";
import type { Logger } from "../observability/log.js";
import type { OverviewDeps } from "./overview.js";
import { alertsWatched } from "./watch-alerts.js";
import { commandsWatched } from "./watch-commands.js";
import { overviewWatched } from "./watch-overview.js";
import type { WatchDeps, Watched } from "./watched.js";

export interface LiveWatch {
  /** Resolves once whatever is written from now on of these topics will be told to the tenant's streams. */
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
  const job = every(lookMs, "look for what live streams are told", log, async () => {
    for (const part of parts) await part.look();
  });
  return {
    begin: async (tenant, topics) => {
      for (const part of parts) if (topics.includes(part.topic)) await part.begin(tenant);
    },
    close: job.stop,
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
    /** One tenant after the other: however many have streams, one question is under way. */
    look: async () => {
      const wanting = new Set(feed.tenantsOf(topic));
      for (const tenant of [...tenants.keys()]) if (!wanting.has(tenant)) tenants.delete(tenant);
      for (const tenant of wanting) await look(tenant, await seenBy(tenant));
    },
  };
}
