import { createChangeRetention } from "../../../../store/metadata/db/change-retention.js";
import { boundDetail, changed, detailBytesMax } from "../../../../store/metadata/db/changes.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const dayMs = 86_400_000;
const now = 1_000 * dayMs;

async function withDb(use: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
    await db.write([{ sql: "delete from change" }]);
    await use(db);
    await db.close();
  });
}

/** So many rows of a tenant, made at a time. */
async function fill(db: Db, tenant: number, count: number, at: number): Promise<void> {
  await db.write([
    {
      sql: `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
        insert into change (tenant, at, action, entity, recordID) select ?, ?, 'update', 'device', i from n`,
      args: [count, tenant, at],
    },
  ]);
}

const rowsOf = async (db: Db, tenant: number): Promise<number> =>
  (await db.first<{ n: number }>("select count(*) n from change where tenant = ?", [tenant]))?.n ?? 0;

const usual = {
  days: 365,
  rowsOfTenantMax: 1e9,
  bytesOfTenantMax: 1e12,
  followed: async () => undefined,
  isClosing: () => false,
};

suite("retention of the log of changes", (test) => {
  test("rows go by age, and beyond a tenant's bound the oldest of that tenant alone", () =>
    withDb(async (db) => {
      await fill(db, 1, 300, now - 366 * dayMs);
      await fill(db, 2, 10, now - 366 * dayMs);
      await fill(db, 1, 14_000, now - 300 * dayMs);
      await fill(db, 2, 500, now - 200 * dayMs);
      await fill(db, 1, 14_000, now - 100 * dayMs);
      const apply = createChangeRetention(db, {
        ...usual,
        days: 365,
        rowsOfTenantMax: 12_000,
      });
      await apply(now);
      assert.is(await rowsOf(db, 2), 500, "what is old has gone, and nothing for its neighbour's sake");
      const left = await rowsOf(db, 1);
      assert.ok(left >= 12_000 && left <= 12_000 + 2 * 5000, `${left} rows`);
      const oldest = await db.first<{ at: number }>("select min(at) at from change where tenant = 1");
      assert.is(oldest?.at, now - 100 * dayMs, "the oldest first");
      await apply(now);
      assert.is(await rowsOf(db, 1), left, "nothing more to do");
      await fill(db, 1, 9_000, now - dayMs);
      await apply(now);
      const after = await rowsOf(db, 1);
      assert.ok(after >= 12_000 && after < left + 9_000, `${after} rows`);
      await apply(now + 400 * dayMs);
      assert.equal([await rowsOf(db, 1), await rowsOf(db, 2)], [0, 0]);
    }));

  test("a row that a reader of the feed has not seen stays, and a young one for other processes", () =>
    withDb(async (db) => {
      await fill(db, 1, 100, now - 400 * dayMs);
      let seen: () => void = () => undefined;
      const following = new Promise<void>((resolve) => {
        seen = resolve;
      });
      const options = { ...usual, days: 365, rowsOfTenantMax: 1000 };
      const running = createChangeRetention(db, { ...options, followed: () => following })(now);
      // Behind the position that the round waits for.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await fill(db, 1, 5, now - 400 * dayMs);
      assert.is(await rowsOf(db, 1), 105, "until the feed has been read");
      seen();
      await running;
      assert.is(await rowsOf(db, 1), 5, "what came later waits for the next round");
      await fill(db, 1, 40_000, now - 60_000);
      const apply = createChangeRetention({ ...db, shared: true }, options);
      await apply(now);
      assert.is(await rowsOf(db, 1), 40_000, "a minute old");
      await apply(now + 3_600_000);
      assert.ok((await rowsOf(db, 1)) < 10_000);
    }));

  test("a round removes whatever one can write, tenants in turns, and ends when the service does", () =>
    withDb(async (db) => {
      await fill(db, 1, 130_000, now - 60_000);
      await fill(db, 2, 12_000, now - 60_000);
      await fill(db, 3, 700, now - 60_000);
      const gone: unknown[] = [];
      let closesAfter = 3;
      const counting: Db = {
        ...db,
        write: async (statements) => {
          const results = await db.write(statements);
          if ((results[0]?.rowsAffected ?? 0) > 0) gone.push(statements[0]?.args?.[0]);
          return results;
        },
      };
      const options = { ...usual, rowsOfTenantMax: 1000 };
      const closing = createChangeRetention(counting, {
        ...options,
        isClosing: () => gone.length >= closesAfter,
      });
      await closing(now);
      assert.equal(gone, [1, 2, 1], "a delete each in turn, no more once it closes");
      closesAfter = Number.POSITIVE_INFINITY;
      await closing(now);
      const left = [await rowsOf(db, 1), await rowsOf(db, 2), await rowsOf(db, 3)];
      assert.ok(
        left.every((rows, i) => rows <= 1000 + 2 * 5000 && (i === 2 ? rows === 700 : rows >= 1000)),
        `${left}`,
      );
    }));

  test("a tenant's details go beyond its bytes, the oldest first, and nobody else's", () =>
    withDb(async (db) => {
      const actor = (tenant: number) => ({ tenant, userIntID: null, username: null });
      const long = { text: "x".repeat(3900) };
      const edits = (tenant: number, at: number) =>
        db.write(
          Array.from({ length: 3000 }, (_, i) => changed(actor(tenant), at, "update", "device", i, long)),
        );
      for (let n = 0; n < 4; n++) await edits(1, now - 1000 + n);
      await edits(2, now - 5000);
      const bytesOf = async (tenant: number) =>
        (
          await db.first<{ n: number }>("select sum(octet_length(detail)) n from change where tenant = ?", [
            tenant,
          ])
        )?.n ?? 0;
      const others = await bytesOf(2);
      const bytesOfTenantMax = 15_000_000;
      await createChangeRetention(db, { ...usual, bytesOfTenantMax })(now);
      const left = await bytesOf(1);
      assert.ok(left < bytesOfTenantMax + 2 * 5000 * 4000 && left < 4 * 3000 * 3900, `${left}`);
      const oldest = await db.first<{ at: number }>("select min(at) at from change where tenant = 1");
      assert.ok((oldest?.at ?? 0) > now - 1000);
      assert.is(await bytesOf(2), others);
    }));

  test("a long detail is shortened to its short values and the sizes of the others", () =>
    withDb(async (db) => {
      assert.equal(boundDetail({ name: "a", payload: "short" }), { name: "a", payload: "short" });
      assert.is(boundDetail(null), null);
      const long = boundDetail({ name: "a", payload: "é".repeat(100_000), places: [1, 2] });
      assert.equal(long, { name: "a", payload: { bytes: 200_002 }, places: [1, 2] });
      const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, "x".repeat(200)]));
      const names = boundDetail(many) as { fields: string[] };
      assert.equal([names.fields.length, names.fields[0]], [100, "f0"]);
      const actor = { tenant: 1, userIntID: null, username: null };
      await db.write([changed(actor, now, "update", "schedule", 1, { payload: "x".repeat(250_000) })]);
      const row = await db.first<{ bytes: number; detail: string }>(
        "select octet_length(detail) bytes, detail from change",
      );
      assert.ok((row?.bytes ?? 0) <= detailBytesMax);
      assert.equal(JSON.parse(row?.detail ?? ""), { payload: { bytes: 250_002 } });
    }));

  test("counts a long log in turns", () =>
    withDb(async (db) => {
      await fill(db, 1, 1, now);
      await db.write([{ sql: "update change set id = id + 20000000" }]);
      await fill(db, 1, 1, now);
      await db.write([{ sql: "update change set id = 1 where id = (select max(id) from change)" }]);
      let turns = 0;
      let ended = false;
      const counting = (async () => {
        for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
      })();
      await createChangeRetention(db, { ...usual, days: 365, rowsOfTenantMax: 1000 })(now);
      ended = true;
      await counting;
      assert.ok(turns >= 5, `${turns} turns`);
    }));
});
