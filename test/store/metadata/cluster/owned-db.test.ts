/** What follows from a shard's records is written by the process that has the shard. */
import { createPresence } from "../../../../ingest/directory/presence.js";
import { createOwnedDb } from "../../../../store/metadata/cluster/owned-db.js";
import { freeShard, takeShard } from "../../../../store/metadata/cluster/shard-owners.js";
import { openConsumerWorld } from "../../../ingest/consumers/support.js";
import { assert, rejects, suite } from "../../../suite.js";

const shard = 3;
const [a, b] = [
  { number: 1, owner: "a" },
  { number: 2, owner: "b" },
];
const now = 1_800_000_000_000;

suite("the metadata of a shard's holder", (test) => {
  test("what a process still knows that stood still changes nothing of what the next holder has written", async () => {
    const world = await openConsumerWorld();
    const { db } = world.store;
    const statusOf = async (): Promise<unknown> =>
      (
        await db.first<{ deviceStatus: number }>("select deviceStatus from device where id = ?", [
          world.device,
        ])
      )?.deviceStatus;
    const [ofA, ofB] = [createOwnedDb(db, shard, a), createOwnedDb(db, shard, b)];
    await takeShard(db, shard, { to: a, from: null, now });
    const atA = createPresence(ofA, shard, () => now);
    atA.connected(world.device, "1.1.1.1", 30, now);
    await atA.save();
    assert.is(await statusOf(), 1);
    // It stands still; the device goes to the next holder; and then it sees that its connection has ended.
    await takeShard(db, shard, { to: b, from: a, now });
    const atB = createPresence(ofB, shard, () => now);
    atB.connected(world.device, "1.1.1.1", 30, now);
    await atB.save();
    atA.disconnected(world.device);
    const failure = await rejects(() => atA.save());
    assert.is((failure as { code?: string }).code, "UNAVAILABLE");
    assert.is(await statusOf(), 1);
    atB.disconnected(world.device);
    await atB.save();
    assert.is(await statusOf(), 0);
    await world.close();
  });

  test("another's write that goes along in one transaction takes place; nobody's shard is written by none", async () => {
    const world = await openConsumerWorld();
    const { db } = world.store;
    const rename = (name: string) => [
      { sql: "update device set deviceName = ? where id = ?", args: [name, world.device] },
    ];
    const nameOf = async (): Promise<unknown> =>
      (await db.first<{ deviceName: string }>("select deviceName from device where id = ?", [world.device]))
        ?.deviceName;
    const ofA = createOwnedDb(db, shard, a);
    // Never taken, taken by another process of the same number, and freed.
    await rejects(() => ofA.write(rename("never taken")));
    await takeShard(db, shard, { to: { ...a, owner: "a before" }, from: null, now });
    const [own, other] = await Promise.allSettled([ofA.write(rename("no")), db.write(rename("joined"))]);
    assert.equal([own.status, other.status], ["rejected", "fulfilled"]);
    assert.is(await nameOf(), "joined");
    await takeShard(db, shard, { to: a, from: { ...a, owner: "a before" }, now });
    const [result] = await ofA.write(rename("held"));
    assert.is(result?.rowsAffected, 1);
    assert.is(await nameOf(), "held");
    await freeShard(db, shard, a, now);
    await rejects(() => ofA.write(rename("freed")));
    assert.is(await nameOf(), "held");
    await world.close();
  });
});
