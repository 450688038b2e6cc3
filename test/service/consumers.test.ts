/** The consumers of a shard's journal start together, or not at all. */
import { createPresence } from "../../ingest/directory/presence.js";
import type { StartIsolation } from "../../ingest/followers/crash-isolation.js";
import { noIsolation } from "../../ingest/followers/crash-isolation.js";
import { startConsumers } from "../../src/service/consumers.js";
import { systemClock } from "../../store/lib/clock.js";
import { openConsumerWorld } from "../ingest/consumers/support.js";
import { assert, rejects, suite } from "../suite.js";

suite("consumers of a journal", (test) => {
  test("the one of alerts does not go on if the one of points cannot start", async () => {
    const world = await openConsumerWorld();
    const { journal, directory, meter, store } = world;
    let following = 0;
    let running = 0;
    const counted: StartIsolation = (from, end) => {
      running++;
      const narrowing = noIsolation(from, end);
      return {
        ...narrowing,
        close: async () => {
          running--;
          await narrowing.close();
        },
      };
    };
    const failure = await rejects(() =>
      startConsumers({
        config: { influx: null, offlineAlertSeconds: 60 },
        db: store.db,
        metadata: {
          directory,
          meter,
          follow: () => {
            following++;
            return () => void following--;
          },
        },
        shard: { number: 0, journal },
        series: { checkpoint: () => Promise.reject(new Error("the store is away")) },
        presence: createPresence(store.db, 0, Date.now),
        status: { note: () => undefined },
        aside: { narrow: () => counted, replaysBy: () => undefined, isAside: () => false },
        clock: systemClock,
        rules: () => ({}),
        onFailed: () => undefined,
        onStored: () => undefined,
        onSettled: () => undefined,
        onDecoded: () => undefined,
        fatal: (error: Error) => {
          throw error;
        },
      } as never),
    );
    assert.is(failure.message, "the store is away");
    assert.equal([following, running], [0, 0]);
    await world.close();
  });
});
