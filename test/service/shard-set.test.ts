/** The shards of a process that come and go. */
import { createShardSet } from "../../src/service/shard-set.js";
import { createCheckpointTrackers } from "../../store/series/influx/checkpoint.js";
import { assert, rejects, suite } from "../suite.js";

const never = new AbortController().signal;

suite("a shard that comes", (test) => {
  test("and cannot be opened is begun where another process has come to meanwhile, when it comes again", async () => {
    const stored = { id: 100 };
    const trackers = createCheckpointTrackers(() => ({
      read: async () => stored.id,
      write: async (id) => void Object.assign(stored, { id }),
    }));
    const found: number[] = [];
    const set = createShardSet({
      config: { shards: [3, 4], dataDir: ".", freeBytesMin: 0 },
      storage: {
        metadata: {},
        series: { letGo: trackers.letGo },
        openShard: async (shard: number) => {
          found.push(await trackers.of(shard).settled());
          throw new Error("its sessions cannot be read");
        },
      },
      consuming: { clock: { now: Date.now } },
      holders: { of: () => null, areKnown: () => true },
    } as never);
    await rejects(() => set.open(3, never));
    stored.id = 900;
    await rejects(() => set.open(3, never));
    assert.equal(found, [100, 900]);
    trackers.close();
  });
});
