/** A shard that cannot be opened leaves nothing behind. */
import { openShard } from "../../src/service/shard.js";
import { openConsumerWorld } from "../ingest/consumers/support.js";
import { assert, rejects, suite } from "../suite.js";
import { shardDeps } from "./shard-deps.js";

suite("a shard that cannot be opened", (test) => {
  test("is forgotten by the replay of dead letters", async () => {
    const world = await openConsumerWorld();
    const { aside: keeper, metadata, ...deps } = await shardDeps(world, world.dir, 3);
    const registered: string[] = [];
    const forgotten: number[] = [];
    const failure = await rejects(() =>
      openShard(
        3,
        {
          ...deps,
          metadata: {
            ...metadata,
            directory: {
              ...metadata.directory,
              onDevice: () => {
                throw new Error("there are no devices");
              },
            },
          },
          aside: {
            ...keeper,
            replaysBy: (shard: number, follower: string) => void registered.push(`${shard} ${follower}`),
            forget: (shard: number) => {
              forgotten.push(shard);
              keeper.forget(shard);
            },
          },
        },
        { db: world.store.db, signal: new AbortController().signal },
      ),
    );
    assert.is(failure.message, "there are no devices");
    assert.equal([registered, forgotten], [["3 sessions"], [3]]);
    await world.close();
  });
});
