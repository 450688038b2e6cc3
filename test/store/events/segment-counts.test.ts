/** The counts of owners that the index file has, and the turns in which it is asked. */
import { join } from "node:path";
import type { Client } from "@libsql/client";
import { logs } from "../../../store/events/event-postings.js";
import { openRepairedIndex } from "../../../store/events/repaired-index.js";
import { countsMax, createSegmentCounts } from "../../../store/events/segment-counts.js";
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

  test("are kept of all index files together up to a bound, those that were asked for last", async () => {
    const [one, other] = [createSegmentCounts(), createSegmentCounts()];
    let reads = 0;
    const ask = async (counts: typeof one, owner: number, segments: number): Promise<number> => {
      const before = reads;
      await counts.get("tenant", [owner], [logs.events], async () => {
        reads++;
        return Array.from({ length: segments }, (_, firstID) => ({ firstID, count: 1, received: null }));
      });
      return reads - before;
    };
    const third = Math.floor(countsMax / 3) - 1;
    for (const owner of [1, 2]) assert.is(await ask(one, owner, third), 1);
    assert.is(await ask(other, 1, third), 1, "another file's owner of the same number");
    assert.is(await ask(one, 1, third), 0);
    assert.is(await ask(other, 2, third), 1);
    // The one of the four that was read longest ago has been dropped.
    assert.equal(
      [
        await ask(one, 1, third),
        await ask(other, 1, third),
        await ask(other, 2, third),
        await ask(one, 2, third),
      ],
      [0, 0, 0, 1],
    );
    for (let i = 0; i < 2; i++) assert.is(await ask(one, 3, countsMax), 1, "more than the whole capacity");
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

/** Holds the thread for some milliseconds. */
const slowQuestion = (client: Client) =>
  client.execute(
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 15000) select sum(i) from n",
  );

suite("index files", (test) => {
  test("questions that are asked at once, of one or of several, do not hold one turn of the loop", async () => {
    await withTempDir(async (dir) => {
      const files = await Promise.all(
        Array.from({ length: 4 }, (_, i) =>
          openRepairedIndex(
            {
              path: join(dir, `${i}.db`),
              onTrouble: failing,
              onDamage: ({ what }) => failing(Error(what)),
            },
            async () => undefined,
          ),
        ),
      );
      let turn = 0;
      let ticking = true;
      const tick = (): void => {
        turn++;
        if (ticking) setImmediate(tick);
      };
      tick();
      /** In which turn each of so many queries was answered. */
      const turnsOf = async (questions: number, question: (client: Client) => Promise<unknown>) => {
        const turns: number[] = [];
        const ask = (_: unknown, i: number) =>
          files[i % files.length]?.ask(question).then(() => turns.push(turn));
        await Promise.all(Array.from({ length: questions }, ask));
        return turns;
      };
      const long = await turnsOf(80, slowQuestion);
      assert.is(long.length, 80);
      const most = Math.max(...long.map((one) => long.filter((other) => other === one).length));
      assert.ok(most <= 20, `${most} questions of 80 in one turn`);
      const short = new Set(await turnsOf(100, async () => undefined));
      assert.ok(short.size <= 20, `${short.size} turns for what fits into one`);
      ticking = false;
      for (const file of files) await file.close();
    });
  });
});
