/** A shard that cannot be opened leaves nothing behind. */
import { createHeldBytes } from "../../ingest/sessions/held-bytes.js";
import { createWorkBudget } from "../../ingest/uplinks/work-budget.js";
import { createTroubles } from "../../src/observability/status.js";
import { openAsideKeeper } from "../../src/service/aside.js";
import { openShard } from "../../src/service/shard.js";
import { createIndexThread } from "../../store/events/event-indexer.js";
import { systemClock } from "../../store/lib/clock.js";
import { earliestTime } from "../../store/lib/time-range.js";
import { createSessionFileThread } from "../../store/mqtt-sessions/session-file-thread.js";
import { openConsumerWorld } from "../ingest/consumers/support.js";
import { assert, rejects, suite } from "../suite.js";

const unused = () => undefined;
const log = { debug: unused, info: unused, warn: unused, error: unused };

suite("a shard that cannot be opened", (test) => {
  test("is forgotten by what replays messages that were set aside", async () => {
    const world = await openConsumerWorld();
    const { directory, meter, store, dir } = world;
    const config = {
      dataDir: dir,
      timezone: "UTC",
      oldestTime: earliestTime,
      shards: [3],
      ownShards: [3],
      freeBytesMin: 0,
      sessionQueueMessagesMax: 10,
    };
    const keeper = await openAsideKeeper({
      config,
      db: store.db,
      oldest: () => 0,
      log,
      troubles: createTroubles(),
      now: Date.now,
    });
    const registered: string[] = [];
    const forgotten: number[] = [];
    const failure = await rejects(() =>
      openShard(
        3,
        {
          config,
          metadata: {
            db: store.db,
            meter,
            directory: {
              ...directory,
              onDevice: () => {
                throw new Error("there are no devices");
              },
            },
          },
          logs: null,
          series: { checkpoint: async () => 0 },
          damage: { report: unused },
          onFailed: unused,
          aside: {
            ...keeper,
            replaysBy: (shard: number, follower: string) => void registered.push(`${shard} ${follower}`),
            forget: (shard: number) => {
              forgotten.push(shard);
              keeper.forget(shard);
            },
          },
          work: createWorkBudget(),
          receipts: { stored: async () => undefined },
          held: createHeldBytes(1_000_000),
          threads: { events: createIndexThread(), sessions: createSessionFileThread() },
          log,
          faults: () => unused,
          now: systemClock.now,
          onEnded: unused,
        } as never,
        new AbortController().signal,
      ),
    );
    assert.is(failure.message, "there are no devices");
    assert.equal([registered, forgotten], [["3 sessions"], [3]]);
    await world.close();
  });
});
