import { changedAll, deleteStatements, listChanges } from "../../../../store/metadata/db/changes.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const actor = { tenant: 1, userIntID: 7, username: "ann" };

async function withDb(use: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
    await use(db);
    await db.close();
  });
}

suite("log of changes", (test) => {
  test("a thousand records that go are a thousand rows in their order, of one statement each for rows and log", async () => {
    await withDb(async (db) => {
      const ids = Array.from({ length: 1000 }, (_, i) => (i * 7) % 1001);
      assert.is(deleteStatements("device", actor, 5, ids).length, 2);
      await db.write([changedAll(actor, 5, "update", "alert", ids, { endTime: 5 })]);
      await db.write(deleteStatements("device", actor, 6, ids));
      const rows = await db.all<Record<string, unknown>>("select * from change order by id");
      assert.equal(
        rows.map(({ id: _, ...rest }) => rest),
        [
          ...ids.map((recordID) => ({
            action: "update",
            entity: "alert",
            recordID,
            at: 5,
            detail: '{"endTime":5}',
          })),
          ...ids.map((recordID) => ({ action: "delete", entity: "device", recordID, at: 6, detail: null })),
        ].map((row) => ({ ...actor, ...row })),
      );
    });
  });

  test("a range of a long log is what its rows say, each tenant's own", async () => {
    await withDb(async (db) => {
      const rows = 130_000;
      const minuteMs = 60_000;
      await db.write([
        {
          sql: `insert into change (tenant, at, action, entity, recordID)
            with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1)
            select i % 2 + 1, (i - (i % 7 = 0) * 59) * ${minuteMs}, 'update', 'e' || (i % 3), i from n`,
          args: [rows],
        },
      ]);
      for (const [from, to] of [
        [50, 400],
        [64_000, 64_100],
        [rows - 50, rows + 50],
        [-10, 10],
      ] as const) {
        const filters = [
          { field: "at", like: false, value: from * minuteMs * 1000, until: to * minuteMs * 1000 },
          { field: "entity", like: false, value: "e1" },
        ];
        const found = await listChanges(db, 2, { page: 1, limit: 1000, filters });
        const wanted = Array.from({ length: rows }, (_, i) => rows - i).filter((i) => {
          const minute = i - (i % 7 === 0 ? 59 : 0);
          return i % 2 === 1 && i % 3 === 1 && minute >= from && minute < to;
        });
        assert.equal([found.items.map(({ id }) => id), found.count], [wanted, wanted.length]);
      }
    });
  });
});
