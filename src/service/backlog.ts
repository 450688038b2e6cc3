/** What the consumers of the journals have not taken yet, on disk. */
import type { Journal } from "../../store/journal/journal.js";
import type { Config } from "../config/config.js";
import { shardPart } from "./shard-part.js";
import type { ShardPipeline } from "./shard-pipeline.js";

type Followed = Pick<ShardPipeline, "settledID" | "savedAlertsID"> & {
  readonly shard: Pick<ShardPipeline["shard"], "number">;
  readonly journal: Pick<Journal, "segments" | "committedID">;
};

interface BacklogDeps {
  readonly config: Pick<Config, "journalBacklogBytes" | "shards" | "cluster">;
  readonly pipelines: { readonly all: readonly Followed[] };
}

interface Backlog {
  measure(): void;
  /**
   * Whether, when it was measured, that of the shard was beyond its part: nothing more is taken for it. What follows
   * other shards, another InfluxDB for instance, may go on.
   */
  isFull(shard: number): boolean;
}

export function createBacklog({ config, pipelines }: BacklogDeps): Backlog {
  const bytesMax = shardPart(config.journalBacklogBytes, config);
  let full: ReadonlySet<number> = new Set();
  return {
    measure: () => {
      const over = pipelines.all.filter((one) => backlogBytes(one) > bytesMax);
      full = new Set(over.map(({ shard }) => shard.number));
    },
    isFull: (shard) => full.has(shard),
  };
}

/** Bytes of the segments that a consumer has not settled. */
function backlogBytes({ journal, settledID, savedAlertsID }: Followed): number {
  const settled = Math.min(settledID, savedAlertsID);
  return journal.segments.reduce((sum, segment, i) => {
    const end = journal.segments[i + 1]?.firstID ?? journal.committedID + 1;
    const share = Math.min(1, Math.max(0, (end - 1 - settled) / Math.max(1, end - segment.firstID)));
    return sum + segment.bytes * share;
  }, 0);
}
