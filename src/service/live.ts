/** The sources of live streams and the overview: this process, or all processes of a cluster. */
import { tenantFeedDefaults } from "../../ingest/live/tenant-feed.js";
import type { Clock } from "../../store/lib/clock.js";
import type { NeighbourNodes } from "../cluster/neighbours.js";
import { createFigures, type ReadFigures } from "../live/figures.js";
import { createLiveWatch, type LiveWatch } from "../live/watch.js";
import { createFeedOfNodes, type FeedOfNodes } from "../live-nodes/cluster-feed.js";
import type { Logger } from "../observability/log.js";
import type { Pipelines } from "./pipelines.js";
import type { Storage } from "./storage.js";

export interface Live {
  /** What happens to a tenant's devices, for its streams. */
  readonly tenantLive: FeedOfNodes;
  /** Looks for what is in the metadata. */
  readonly liveWatch: LiveWatch;
  readonly figures: ReadFigures;
}

interface LiveDeps {
  readonly storage: Storage;
  readonly pipelines: Pick<Pipelines, "tenantLive" | "status" | "ofShards">;
  readonly log: Logger;
  readonly clock: Clock;
}

/** @param cluster null: the process is alone */
export function openLive(
  { storage, pipelines: { tenantLive, status, ofShards }, log, clock }: LiveDeps,
  cluster: NeighbourNodes | null,
): Live {
  const { db, meter } = storage.metadata;
  const figures = createFigures({ meter, status, shards: ofShards.places, ...clock }, cluster);
  const liveWatch = createLiveWatch({ db, feed: tenantLive, figures, log });
  if (cluster === null) return { tenantLive, liveWatch, figures };
  const { others, openEvents } = cluster;
  const onFault = storage.faults("at a link for live events of another node");
  const nodes = { others, openEvents, onFault, now: clock.now };
  return { tenantLive: createFeedOfNodes(tenantLive, nodes, tenantFeedDefaults.heldMs), liveWatch, figures };
}
