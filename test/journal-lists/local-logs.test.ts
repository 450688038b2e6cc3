/** Lists of shards that come and go while they are read. */
import { createLocalLogs } from "../../src/journal-lists/local-logs.js";
import { logs } from "../../store/events/event-postings.js";
import type { EventLogReading } from "../../store/events/events.js";
import { assert, rejects, suite } from "../suite.js";

const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 10 } as const;

/** The logs of shards 1 to 3: each list of one of them runs `onList` first. */
function shardsWith(onList: (shard: number) => void) {
  const here = new Set([1, 2, 3]);
  const logs = [1, 2, 3].map(
    (shard) =>
      ({
        shards: [shard],
        list: async () => {
          onList(shard);
          if (!here.has(shard)) throw new Error("it is closed");
          return { items: [], count: shard, truncated: false };
        },
        sequences: async () => {
          onList(shard);
          if (!here.has(shard)) throw new Error("it is closed");
          return [];
        },
      }) as unknown as EventLogReading,
  );
  const kept = createLocalLogs(
    () => [...here],
    () => logs.filter(({ shards: [shard = 0] }) => here.has(shard)),
  );
  return { here, list: async (...asked: readonly number[]) => (await kept.of(asked).list(query)).shards };
}

suite("the event logs of shards that come and go", (test) => {
  test("a list is of those that were asked for and are here", async () => {
    const { list } = shardsWith(() => undefined);
    assert.equal(await list(1, 2, 3), [1, 2, 3]);
    assert.equal(await list(3, 4), [3]);
    assert.equal(await list(4), []);
    assert.equal(await list(), []);
  });

  test("one that goes while it is read is missing, and the others are there", async () => {
    const { here, list } = shardsWith((shard) => shard === 2 && here.delete(2));
    assert.equal(await list(1, 2, 3), [1, 3]);
    const alone = shardsWith((shard) => alone.here.delete(shard));
    assert.equal(await alone.list(2), []);
  });

  test("one that fails where it is fails the list", async () => {
    const { list } = shardsWith(() => {
      throw new Error("its index is damaged");
    });
    await rejects(() => list(1, 2), /damaged/);
  });
});
