/** A shard that is copied while another process has it. */
import { join } from "node:path";
import { copyShardAhead } from "../../src/service/shard-ahead.js";
import { createIndexThread } from "../../store/events/event-indexer.js";
import { openConsumerWorld } from "../ingest/consumers/support.js";
import { keep, openTestJournal } from "../store/journal/support.js";
import { assert, rejects, suite } from "../suite.js";
import { shardDeps } from "./shard-deps.js";

suite("a shard that is copied ahead", (test) => {
  test("is given up between two segments, however many are still to be indexed, and goes on where it was", async () => {
    const world = await openConsumerWorld();
    const deps = await shardDeps(world, world.dir, 3);
    const copied = join(world.dir, "shards", "3", "journal");
    const journal = await openTestJournal(copied, { shard: 3, segmentBytesMax: 1 });
    for (let n = 0; n < 10; n++) await keep(journal);
    assert.is(journal.segments.length, 10);
    await journal.close();
    const stop = new AbortController();
    const thread = createIndexThread();
    let indexed = 0;
    const ahead = {
      ...deps,
      logs: { copyAhead: async () => undefined } as never,
      indexThread: {
        indexer: (...of: Parameters<typeof thread.indexer>) => {
          const real = thread.indexer(...of);
          return {
            ...real,
            ask: async (request: Parameters<typeof real.ask>[0]) => {
              indexed++;
              if (indexed === 3) stop.abort();
              await real.ask(request);
            },
          };
        },
      },
    };
    const failure = await rejects(() => copyShardAhead(3, ahead, stop.signal));
    assert.is((failure as { code?: string }).code, "UNAVAILABLE");
    assert.is(indexed, 3);
    await copyShardAhead(3, ahead, new AbortController().signal);
    assert.is(indexed, 9, "nothing is indexed twice, and the newest not at all");
    await world.close();
  });

  test("takes nothing of a disk on which it could not be opened", async () => {
    const world = await openConsumerWorld();
    const deps = await shardDeps(world, world.dir, 3);
    let copied = 0;
    const ahead = {
      ...deps,
      config: { ...deps.config, freeBytesMin: Number.MAX_SAFE_INTEGER },
      logs: { copyAhead: async () => void copied++ } as never,
    };
    await rejects(() => copyShardAhead(3, ahead, new AbortController().signal), /disk full/);
    assert.is(copied, 0);
    await world.close();
  });
});
