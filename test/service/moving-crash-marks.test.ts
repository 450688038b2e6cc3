/** What is known of records that end a process goes with their shard. */
import { movingCrashMarks } from "../../src/service/moving-crash-marks.js";
import type { DeadLetter } from "../../store/journal/dead-letters.js";
import { idsPerShard } from "../../store/journal/shard-ids.js";
import { noWork, type Work } from "../../store/journal/work-mark.js";
import { createOwnedDb } from "../../store/metadata/cluster/owned-db.js";
import { takeShard } from "../../store/metadata/cluster/shard-owners.js";
import type { Db, Statement } from "../../store/metadata/db/db.js";
import { type ConsumerWorld, openConsumerWorld } from "../ingest/consumers/support.js";
import { journalRecord } from "../store/journal/support.js";
import { assert, rejects, suite } from "../suite.js";

const shard = 3;
const place = { number: shard, dir: "/nowhere" };
const id = shard * idsPerShard + 7;
const now = 1_800_000_000_000;
const [a, b] = [
  { number: 1, owner: "a" },
  { number: 2, owner: "b" },
];
const alone: Work = {
  work: { after: id - 1, through: id },
  suspect: { after: id - 1, through: id, ends: 1 },
};

suite("what is known of crashes, where shards move", (test) => {
  let world: ConsumerWorld;
  const lines: string[] = [];
  const say = (msg: string) => void lines.push(msg);
  const log = { debug: say, info: say, warn: say, error: say };
  test.before.each(async () => {
    world = await openConsumerWorld();
    lines.length = 0;
    await takeShard(world.store.db, shard, { to: a, from: null, now });
  });
  test.after.each(() => world.close());

  const marksOf = (node: typeof a, dbOf: (db: Db) => Db = (db) => db) =>
    movingCrashMarks(world.store.db, (number) => createOwnedDb(dbOf(world.store.db), number, node), log);
  const givenTo = (node: typeof a) => takeShard(world.store.db, shard, { to: node, from: a, now });

  test("the next holder finds what was in work, and the dead letters with their records", async () => {
    const atA = marksOf(a);
    await atA.open(shard);
    const mark = atA.workMark(place, "series");
    assert.equal(mark.before, noWork);
    await mark.write(alone);
    const record = { ...journalRecord(id, now * 1000, { payload: Buffer.from("harm") }), device: 9 };
    const aside = await atA.asides.add("alerts", record, "it never ends", now);

    await givenTo(b);
    const atB = marksOf(b);
    assert.equal(atB.asides.all(), [], "nothing of it is here");
    assert.equal(await atB.everywhere(), [aside]);
    await atB.open(shard);
    assert.equal(atB.workMark(place, "series").before, alone);
    assert.equal(atB.workMark(place, "alerts").before, noWork);
    assert.equal(atB.asides.all(), [aside]);
    assert.ok(atB.asides.has("alerts", id));
    assert.not.ok(atB.asides.has("series", id));
    const read = await atB.asides.read(aside);
    assert.equal([read.id, read.device, "payload" in read && read.payload.toString()], [id, 9, "harm"]);
    // It goes on to another.
    atB.forget(shard);
    assert.equal(atB.asides.all(), []);
    await atB.open(shard);
    await atB.asides.remove(aside);
    assert.equal(atB.asides.all(), []);
    await rejects(() => atB.asides.read(aside), /is set aside/);
    await atB.open(shard);
    assert.equal(atB.asides.all(), [], "it is gone from the metadata");
    assert.equal(lines, []);
  });

  test("a former holder changes nothing of it, and goes on", async () => {
    const atA = marksOf(a);
    await atA.open(shard);
    const mark = atA.workMark(place, "series");
    await mark.write(alone);
    await givenTo(b);
    await mark.write(noWork);
    await atA.asides.add("series", journalRecord(id, now * 1000, {}), "it never ends", now);
    assert.is(lines.length, 2, lines.join());
    assert.is(mark.write(noWork), undefined, "nothing is tried any more");
    const atB = marksOf(b);
    await atB.open(shard);
    assert.equal(atB.workMark(place, "series").before, alone);
    assert.equal(atB.asides.all(), [] as DeadLetter[]);
  });

  test("nothing in work is no row and no write; notes of one turn are one", async () => {
    let writes = 0;
    const counted = (db: Db): Db => ({
      ...db,
      write: (statements: readonly Statement[]) => {
        writes++;
        return db.write(statements);
      },
    });
    const atA = marksOf(a, counted);
    await atA.open(shard);
    const mark = atA.workMark(place, "series");
    assert.is(mark.write(noWork), undefined);
    assert.is(writes, 0);
    void mark.write({ ...alone, suspect: null });
    await mark.write(alone);
    assert.is(writes, 1);
    await mark.write(noWork);
    assert.is(writes, 2);
    assert.equal(await world.store.db.all("select * from shard_work"), []);
    mark.close();
    assert.is(mark.write(alone), undefined, "a shard that is closed");
    assert.is(writes, 2);
  });
});
