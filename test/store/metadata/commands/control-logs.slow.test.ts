import { join } from "node:path";
import {
  type ControlLog,
  listControlLogs,
  listGroupControlLogs,
  removeOldControlLogs,
} from "../../../../store/metadata/commands/control-logs.js";
import { scanRowsMax } from "../../../../store/metadata/db/bounded-list.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import type { Filter, Page } from "../../../../store/metadata/db/table.js";
import { assert, suite, withTempDir } from "../../../suite.js";

/** Rows 1 to `rows`: device id % devices + 1, topic id % 7, made in the id's second. */
async function fill(db: Db, rows: number, devices: number): Promise<void> {
  await db.write([
    {
      sql: `insert into control_log (id, tenant, deviceIntID, topic, qos, publishStatus, createAt, payload)
        with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1)
        select i, 1, i % ?2 + 1, 't' || (i % 7), 1, i % 3, i, x'6869' from n`,
      args: [rows, devices],
    },
  ]);
}

const contains = (payload: Uint8Array, _like: boolean, value: string) =>
  Buffer.from(payload).toString("utf8").includes(value);

async function withRows(
  rows: number,
  devices: number,
  use: (list: List, db: Db) => Promise<void>,
): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await fill(db, rows, devices);
    await use(
      (of, filters, page, limit) => listControlLogs(db, 1, of, { page, limit, filters }, contains),
      db,
    );
    await db.close();
  });
}

type List = (
  devices: readonly number[] | null,
  filters: readonly Filter[],
  page: number,
  limit: number,
) => Promise<Page<ControlLog>>;

const idsOf = (page: Page<ControlLog>) => page.items.map(({ id }) => id);
const topic = (value: string): Filter => ({ field: "topic", like: false, value });

suite("control logs, lists", (test) => {
  test("every way to look answers what a plain look at the rows does", async () => {
    await withRows(2000, 10, async (list) => {
      const all = Array.from({ length: 2000 }, (_, i) => 2000 - i);
      const every = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
      for (const devices of [null, every, [3], [3, 4, 8], [99], []]) {
        for (const filters of [
          [],
          [topic("t3")],
          [topic("t3"), { field: "publishStatus", like: false, value: 2 }],
          [{ field: "topic", like: true, value: "T" }],
          [topic("t5"), { field: "payload", like: true, value: "hi" }],
          [{ field: "payload", like: true, value: "ho" }],
        ] as const satisfies readonly (readonly Filter[])[]) {
          const wanted = all.filter(
            (id) =>
              (devices === null || devices.includes((id % 10) + 1)) &&
              filters.every(({ field, value }) => {
                if (field === "publishStatus") return id % 3 === value;
                return field === "payload" ? value === "hi" : value === "T" || value === `t${id % 7}`;
              }),
          );
          for (const [page, limit] of [
            [1, 10],
            [3, 7],
            [1000, 10],
          ] as const) {
            const found = await list(devices, filters, page, limit);
            assert.equal(idsOf(found), wanted.slice((page - 1) * limit, page * limit));
            assert.equal([found.count, found.truncated], [wanted.length, false]);
          }
        }
      }
    });
  });

  test("beyond its bound a list stops and says so", async () => {
    const rows = scanRowsMax + 500;
    await withRows(rows, 4, async (list) => {
      const plain = await list(null, [], 1, 10);
      assert.equal([plain.count, plain.truncated, idsOf(plain)[0]], [scanRowsMax, true, rows]);
      const last = await list(null, [], scanRowsMax / 10, 10);
      assert.equal(idsOf(last).at(-1), 501);
      assert.equal(idsOf(await list(null, [], scanRowsMax / 10 + 1, 10)), []);
      const scanned = await list(null, [topic("t0")], 1, 10);
      assert.ok(scanned.truncated);
      assert.is(
        scanned.count,
        Array.from({ length: scanRowsMax }, (_, i) => rows - i).filter((id) => id % 7 === 0).length,
      );
      const own = await list([2], [], 1, 10);
      assert.equal([own.count, own.truncated], [rows / 4, false], "one device has its index");
      const many = Array.from({ length: 100 }, (_, i) => i + 1);
      const each = scanRowsMax / 100;
      const merged = await list(many, [], 1, 1000);
      assert.ok(merged.truncated);
      assert.is(merged.count, 4 * each);
      assert.equal(
        idsOf(merged),
        Array.from({ length: 1000 }, (_, i) => rows - i),
      );
    });
  });

  /** Minutes of a log whose clock is set back by 59 minutes for one row in seven. */
  const minuteOf = (id: number) => id - (id % 7 === 0 ? 59 : 0);
  const minuteMs = 60_000;
  const between = (from: number, to: number): Filter => ({
    field: "createAt",
    like: false,
    value: from * minuteMs * 1000,
    until: to * minuteMs * 1000,
  });
  const inRange = (rows: number, from: number, to: number, keep: (id: number) => boolean) =>
    Array.from({ length: rows }, (_, i) => rows - i).filter(
      (id) => minuteOf(id) >= from && minuteOf(id) < to && keep(id),
    );

  test("a range beyond the bound is answered whole, for every scope, through clocks that were set back", async () => {
    const rows = scanRowsMax + 60_000;
    await withRows(rows, 4, async (list, db) => {
      await db.write([
        { sql: `update control_log set createAt = (id - (id % 7 = 0) * 59) * ${minuteMs}` },
        { sql: "delete from control_log where id between 20000 and 29999" },
      ]);
      const there = (id: number) => id < 20_000 || id > 29_999;
      for (const [from, to] of [
        [100, 400],
        [-1000, 300],
        [19_950, 30_050],
        [24_000, 25_000],
        [rows - 300, rows - 30],
        [rows + 5000, rows + 6000],
      ] as const) {
        for (const devices of [null, [2], [2, 3, 99], Array.from({ length: 1500 }, (_, i) => i + 2)]) {
          const keep = (id: number) => there(id) && (devices === null || devices.includes((id % 4) + 1));
          const wanted = inRange(rows, from, to, keep);
          const found = await list(devices, [between(from, to)], 2, 20);
          assert.equal(idsOf(found), wanted.slice(20, 40), `${from} to ${to}, ${devices?.length}`);
          assert.equal([found.count, found.truncated], [wanted.length, false]);
          const third = await list(devices, [between(from, to), topic("t3")], 1, 1000);
          assert.equal(idsOf(third), wanted.filter((id) => id % 7 === 3).slice(0, 1000));
        }
      }
      const open = await list(null, [between(-1e6, 140_000)], 1, 10);
      assert.equal([open.count <= scanRowsMax, open.truncated], [true, true], "a range is bounded as well");
      assert.equal(idsOf(open), inRange(rows, 0, 140_000, there).slice(0, 10));
    });
  });

  test("a range of a group's logs beyond the bound is answered whole", async () => {
    const rows = scanRowsMax + 60_000;
    await withRows(1, 1, async (_list, db) => {
      await db.write([
        {
          sql: `insert into group_control_log (id, tenant, groupIntID, groupID, groupName, topic, needAck, task, payload, publishStatus, createAt)
            with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1)
            select i, 1, 5, 'g', 'g', 't', 1, 'task' || i, x'6869', 1, (i - (i % 7 = 0) * 59) * ${minuteMs} from n`,
          args: [rows],
        },
      ]);
      const request = { page: 1, limit: 1000, filters: [between(100, 400)] };
      const found = await listGroupControlLogs(db, 5, request, contains);
      const wanted = inRange(rows, 100, 400, () => true);
      assert.equal(
        [found.items.map(({ id }) => id), found.count, found.truncated],
        [wanted, wanted.length, false],
      );
    });
  });

  test("a log within the bound is looked at whole, whatever its clock has done", async () => {
    await withRows(3000, 1, async (list, db) => {
      // Six hours ahead for a while, and then back.
      await db.write([
        { sql: `update control_log set createAt = (id + (id between 1000 and 1200) * 5000) * ${minuteMs}` },
      ]);
      const found = await list(null, [between(2500, 2510)], 1, 100);
      assert.equal(idsOf(found), [2509, 2508, 2507, 2506, 2505, 2504, 2503, 2502, 2501, 2500]);
    });
  });

  test("what is older than its time goes in steps, the oldest first", async () => {
    await withRows(2500, 3, async (list, db) => {
      for (const expected of [1000, 200, 0]) assert.is(await removeOldControlLogs(db, 1201, 1000), expected);
      const left = await list(null, [], 130, 10);
      assert.equal([left.count, idsOf(left).at(-1)], [1300, 1201]);
    });
  });
});
