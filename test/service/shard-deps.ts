/** What opens a shard over real metadata. */
import { createHeldBytes } from "../../ingest/sessions/held-bytes.js";
import { createWorkBudget } from "../../ingest/uplinks/work-budget.js";
import { createTroubles } from "../../src/observability/status.js";
import { folderCrashMarks } from "../../src/service/crash-marks.js";
import { createDeadLetters } from "../../src/service/dead-letters.js";
import type { openShard } from "../../src/service/shard.js";
import { createIndexThread } from "../../store/events/event-indexer.js";
import { systemClock } from "../../store/lib/clock.js";
import { earliestTime } from "../../store/lib/time-range.js";
import { createSessionFileThread } from "../../store/mqtt-sessions/session-file-thread.js";
import type { ConsumerWorld } from "../ingest/consumers/support.js";

type ShardDeps = Parameters<typeof openShard>[1];

const unused = () => undefined;
const log = { debug: unused, info: unused, warn: unused, error: unused };

/** Dependencies of a shard on a machine with its files in `dir`, where only its journal is. */
export async function shardDeps(
  { directory, meter, store }: Pick<ConsumerWorld, "directory" | "meter" | "store">,
  dir: string,
  shard: number,
): Promise<ShardDeps> {
  const config = {
    dataDir: dir,
    timezone: "UTC",
    oldestTime: earliestTime,
    shards: [shard],
    ownShards: [shard],
    freeBytesMin: 0,
    sessionQueueMessagesMax: 10,
  };
  const aside = createDeadLetters({
    config,
    marks: await folderCrashMarks(dir),
    db: store.db,
    oldest: () => 0,
    log,
    troubles: createTroubles(),
    now: Date.now,
  } as never);
  return {
    config,
    metadata: { db: store.db, meter, directory },
    logs: null,
    series: { checkpoint: async () => 0 },
    damage: { report: unused },
    onFailed: unused,
    aside,
    work: createWorkBudget(),
    receipts: { stored: async () => undefined },
    held: createHeldBytes(1_000_000),
    indexThread: createIndexThread(),
    sessionThread: createSessionFileThread(),
    log,
    faults: () => unused,
    now: systemClock.now,
    onEnded: unused,
  } as never;
}
