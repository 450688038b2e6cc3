/** The counts of owners that the index file has, and the turns in which it is asked. */
import { join } from "node:path";
import { logs } from "../../../store/events/event-postings.js";
import { openRepairedIndex } from "../../../store/events/repaired-index.js";
import { createSegmentCounts } from "../../../store/events/segment-counts.js";
import { assert, suite, until, withTempDir } from "../../suite.js";
import { keep } from "../journal/support.js";
import { indexed, openLog } from "./support.js";

const failing = (error: Error): never => {
  throw error;
};

suite("counts of owners", (test) => {
  test("are read once for an owner and a log, until the file changes", async () => {
    const counts = createSegmentCounts();
    let reads = 0;
    const ask = async (owners: readonly number[], log: (typeof logs)[keyof typeof logs] = logs.events) =>
      (
        await counts.get("device", owners, [log], async () => [
          { firstID: 1, count: ++reads, received: null },
        ])
      )[0]?.count;
    assert.equal(
      [await ask([1]), await ask([1]), await ask([2]), await ask([1], logs.connects)],
      [1, 1, 2, 3],
    );
    counts.changed();
    assert.equal([await ask([1]), await ask([1])], [4, 4]);
    // Lists over many devices are too many kinds to be remembered.
    assert.equal([await ask([1, 2]), await ask([1, 2])], [5, 6]);
  });

  test("of very many segments are not kept", async () => {
    const counts = createSegmentCounts();
    let reads = 0;
    const ask = (segments: number) =>
      counts.get("tenant", [1], [logs.events], async () => {
        reads++;
        return Array.from({ length: segments }, (_, firstID) => ({ firstID, count: 1, received: null }));
      });
    for (let i = 0; i < 3; i++) assert.is((await ask(501)).length, 501);
    assert.is(reads, 3);
    for (let i = 0; i < 3; i++) await ask(500);
    assert.is(reads, 4);
  });

  test("a list that is asked while segments close always counts what is there", async () => {
    await withTempDir(async (dir) => {
      const { journal, events, close } = await openLog(dir, 1500);
      const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 1000 } as const;
      const listed = async () => {
        const { items, count } = await events.list(query);
        return [items.length, count];
      };
      let records = 0;
      for (let i = 0; i < 60; i++) {
        await keep(journal, { payload: Buffer.alloc(100, i) });
        records++;
        assert.equal(await listed(), [records, records]);
      }
      const closed = journal.segments.length - 1;
      assert.ok(closed > 3);
      await until(() => indexed(dir, closed), { what: "the index" });
      assert.equal(await listed(), [records, records]);
      assert.equal(await listed(), [records, records]);
      await close();
    });
  });
});

suite("the index file", (test) => {
  test("questions that are asked at once do not hold one turn of the loop", async () => {
    await withTempDir(async (dir) => {
      const index = await openRepairedIndex(
        { path: join(dir, "events.db"), onTrouble: failing, onDamage: ({ what }) => failing(Error(what)) },
        async () => undefined,
      );
      let turn = 0;
      let ticking = true;
      const tick = (): void => {
        turn++;
        if (ticking) setImmediate(tick);
      };
      tick();
      /** In which turn each of so many questions was answered, each of which holds the thread for some milliseconds. */
      const turnsOf = async (questions: number, ms: number): Promise<readonly number[]> => {
        const turns: number[] = [];
        const question = async (): Promise<void> => {
          const end = performance.now() + ms;
          while (performance.now() < end);
          turns.push(turn);
        };
        await Promise.all(Array.from({ length: questions }, () => index.ask(question)));
        return turns;
      };
      const long = await turnsOf(40, 2);
      const most = Math.max(...long.map((one) => long.filter((other) => other === one).length));
      // A slice is 4 ms, and the last of its questions may begin at its end.
      assert.ok(most <= 3, `${most} questions in one turn`);
      const short = await turnsOf(200, 0);
      assert.is(short.length, 200);
      assert.ok(new Set(short).size <= 20, `${new Set(short).size} turns for what fits into one`);
      ticking = false;
      await index.close();
    });
  });
});
