import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { beingRemoved } from "../../../store/metadata/db/sql-errors.js";
import { openStaging } from "../../../store/metadata/devices/import.js";
import {
  countRemovals,
  endRemovals,
  listRemovals,
  newestRemoval,
  tenantsWithRemovals,
} from "../../../store/metadata/removals.js";
import { assert, openTempDir, suite } from "../../suite.js";

suite("pending removals", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  const wait = (tenant: number, count: number) =>
    db.write(
      Array.from({ length: count }, (_, i) => ({
        sql: "insert into removal (tenant, productID, deviceID, createAt) values (?, 'p', ?, 0)",
        args: [tenant, `${tenant}-${i}-${Math.random()}`],
      })),
    );

  test.before.each(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
  });
  test.after.each(async () => {
    await db.close();
    await dir.close();
  });

  test("none: no tenant, no id, count 0", async () => {
    assert.equal(
      [await tenantsWithRemovals(db, 0, 10), await newestRemoval(db), await countRemovals(db)],
      [[], 0, 0],
    );
    assert.equal(await listRemovals(db, [], 5), []);
    await endRemovals(db, []);
  });

  test("tenants ascend from the one asked for; each has its oldest within its span", async () => {
    await wait(7, 5);
    await wait(2, 3);
    await wait(9, 1);
    assert.equal(await tenantsWithRemovals(db, 0, 10), [2, 7, 9]);
    assert.equal(await tenantsWithRemovals(db, 2, 1), [7]);
    assert.equal(await tenantsWithRemovals(db, 9, 10), []);
    const spans = [
      { tenant: 7, after: 1, through: 4 },
      { tenant: 2, after: 0, through: 100 },
      { tenant: 9, after: 9, through: 100 },
      { tenant: 1, after: 0, through: 100 },
    ];
    const found = await listRemovals(db, spans, 2);
    assert.equal(
      found.map(({ tenant, id }) => [tenant, id]).sort((a, b) => (a[1] ?? 0) - (b[1] ?? 0)),
      [
        [7, 2],
        [7, 3],
        [2, 6],
        [2, 7],
      ],
    );
    assert.is((await listRemovals(db, spans, 100)).length, 6);
  });

  test("ended ones no longer wait, and the count is right beyond one step of counting", async () => {
    await db.write([
      {
        sql: `with recursive n (i) as (select 1 union all select i + 1 from n where i < 45000)
          insert into removal (tenant, productID, deviceID, createAt) select i % 3, 'p', 'd' || i, 0 from n`,
      },
    ]);
    assert.is(await countRemovals(db), 45_000);
    await endRemovals(db, [1, 20_000, 45_000, 99_999]);
    assert.is(await countRemovals(db), 44_997);
    assert.is(await newestRemoval(db), 44_999);
  });

  test("an import reports that a deviceID is not free yet, and not that it exists", async () => {
    const staging = await openStaging(db, "staged", true);
    await wait(1, 1);
    const [removal] = await listRemovals(db, [{ tenant: 1, after: 0, through: 10 }], 1);
    const rows = [removal?.deviceID ?? "", "free", "free"];
    await staging.add(
      rows.map((deviceID, i) => ({
        row: i + 2,
        columns: { deviceID, deviceUsername: `u${i}`, deviceName: `n${i}`, productIntID: 1 },
        parent: null,
        audit: null,
      })),
    );
    assert.equal(await staging.conflicts(10), [
      { row: 4, field: "deviceID", error: "exists already" },
      { row: 2, field: "deviceID", error: beingRemoved },
    ]);
  });
});
