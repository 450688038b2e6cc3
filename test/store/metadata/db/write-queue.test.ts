import { StoreError } from "../../../../store/lib/errors.js";
import { openDb } from "../../../../store/metadata/db/db.js";
import { createWriteQueue } from "../../../../store/metadata/db/write-queue.js";
import { assert, suite, withTempDir } from "../../../suite.js";

suite("write queue", (test) => {
  test("writes that come together share transactions, and one that is refused refuses no other", async () => {
    await withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
      const insert = (name: string, id: string) =>
        db.write([
          {
            sql: "insert into tenant (tenantID, tenantName, createAt) values (?, ?, 0)",
            args: [id, name],
          },
          { sql: "update tenant set createAt = last_insert_rowid() where tenantID = ?", args: [id] },
        ]);
      const names = Array.from({ length: 100 }, (_, i) => (i % 10 === 9 ? "taken" : `tenant ${i}`));
      const ends = await Promise.allSettled(names.map((name, i) => insert(name, `C${i}`)));
      const refused = ends.filter((end) => end.status === "rejected");
      assert.is(refused.length, 9);
      for (const { reason } of refused as PromiseRejectedResult[]) {
        assert.ok(reason instanceof StoreError);
        assert.equal(reason.fields, { tenantName: "exists already" });
      }
      const rows = await db.all<{ id: number; createAt: number }>("select id, createAt from tenant");
      assert.is(rows.length, 91);
      assert.ok(rows.every((row) => row.id === row.createAt));
      await db.close();
    });
  });

  test("joins what waits, within its bound, and answers each write with its own results", async () => {
    const runs: number[] = [];
    const { write } = createWriteQueue(async (statements) => {
      runs.push(statements.length);
      return statements.map(({ sql }) => ({ sql }) as never);
    });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => write([{ sql: `a${i}` }, { sql: `b${i}` }])),
    );
    assert.ok(runs.every((length) => length <= 64) && runs.length < 10, `runs of ${runs}`);
    answers.forEach((answer, i) => {
      assert.equal(answer as unknown, [{ sql: `a${i}` }, { sql: `b${i}` }]);
    });
  });

  test("a statement of many rows counts as so many: two of them share no transaction", async () => {
    const runs: string[][] = [];
    const { write } = createWriteQueue(async (statements) => {
      runs.push(statements.map(({ sql }) => sql));
      return statements.map(({ sql }) => ({ sql }) as never);
    });
    await Promise.all([
      write([{ sql: "few" }]),
      write([{ sql: "many", rows: 1000 }]),
      write([{ sql: "more", rows: 1000 }]),
      write([{ sql: "some", rows: 30 }, { sql: "last" }]),
    ]);
    assert.equal(runs, [["few"], ["many"], ["more"], ["some", "last"]]);
  });

  test("what nobody can run now is refused for all, once", async () => {
    let runs = 0;
    const { write } = createWriteQueue(async () => {
      runs++;
      throw new StoreError("UNAVAILABLE", "cannot reach it");
    });
    const ends = await Promise.allSettled([write([{ sql: "a" }]), write([{ sql: "b" }])]);
    assert.ok(ends.every((end) => end.status === "rejected"));
    assert.is(runs, 1);
  });
});
