/** Devices found by `_like`: through the index of their texts, against a naive reading. */
import { join } from "node:path";
import fc from "fast-check";
import { type Db, openDb, type Statement } from "../../../../store/metadata/db/db.js";
import { listRows } from "../../../../store/metadata/db/list-rows.js";
import { searchedMatchesMax, searchedRowsMax } from "../../../../store/metadata/db/search-rows.js";
import { everyKind } from "../../../../store/metadata/devices/listing.js";
import { deviceIDsByNames } from "../../../../store/metadata/devices/names.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const tenants = [1, 5000] as const;
const insertTenant = (id: number): Statement[] => [
  {
    sql: "insert into tenant (id, tenantID, tenantName, createAt) values (?1, 't' || ?1, 't' || ?1, 0)",
    args: [id],
  },
  {
    sql: "insert into product (id, tenant, productID, productName, cloudProtocol, createAt) values (?1, ?1, 'p' || ?1, 'p' || ?1, 1, 0)",
    args: [id],
  },
];

interface Row {
  readonly id: number;
  readonly tenant: number;
  readonly name: string;
  readonly serial: string | null;
}

const insert = ({ id, tenant, name, serial }: Row): Statement => ({
  sql: `insert into device (id, tenant, kind, deviceID, deviceName, deviceUsername, serialNumber, token, productIntID,
    createAt) values (?1, ?2, 'gateway', 'd' || ?1, ?3 || ?1, 'u' || ?1, ?4, x'', ?2, 0)`,
  args: [id, tenant, name, serial],
});

/** Rows without a name of their own: more than are looked through one by one. */
const fillers = (tenant: number, count: number): Statement => ({
  sql: `insert into device (tenant, kind, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ?2)
    select ?1, 'device', ?3 || i, 'filler ' || i, ?3 || i, x'', ?1, 0 from n`,
  args: [tenant, count, `f${tenant}-`],
});

async function withDevices(count: number, work: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await db.write(tenants.flatMap(insertTenant));
    for (const tenant of tenants) await db.write([fillers(tenant, count)]);
    await work(db);
    await db.close();
  });
}

/** First id of the devices that the property makes. */
const firstID = 1_000_000;

const letters = fc.constantFrom(...("aAbBkKs %_\"'*()äÄßſ\u212aжЖ温度传🦉".match(/./gu) ?? []));
const text = (least: number, most: number) =>
  fc.array(letters, { minLength: least, maxLength: most }).map((all) => all.join(""));

/** Every form of a character's case that is one character. */
const forms = (one: string): string[] =>
  [one, one.toLowerCase(), one.toUpperCase()].filter((form) => [...form].length === 1);

function isContained(
  whole: string,
  pattern: string,
  isSame: (one: string, other: string) => boolean,
): boolean {
  const [in_, of] = [[...whole], [...pattern]];
  return in_.some((_, at) => of.every((one, i) => isSame(one, in_[at + i] ?? "")));
}
/** A pattern's letter stands for its own other case. */
const mustMatch = (one: string, other: string) => forms(one).includes(other);
/** Letters with more than two cases (k, K and the kelvin sign) may match each other. */
const mayMatch = (one: string, other: string) => forms(one).some((form) => forms(other).includes(form));

const like = (field: string, value: string) => ({ field, like: true, value });
async function found(db: Db, tenant: number, filters: ReturnType<typeof like>[], page = 1, limit = 1000) {
  const { items, count, truncated } = await listRows<{ id: number }>(db, everyKind, tenant, {
    page,
    limit,
    filters,
  });
  return { ids: items.map(({ id }) => id), count, truncated };
}

suite("searching devices", (test) => {
  test("every text of a tenant's devices is found by its parts, as they are made, edited and deleted", () =>
    withDevices(2100, async (db) => {
      const rows = new Map<number, Row>();
      const next = { id: firstID };
      const edit = fc.record({
        tenant: fc.constantFrom(...tenants),
        name: text(1, 9),
        serial: fc.option(text(0, 9)),
        ends: fc.constantFrom("made", "made", "edited", "deleted"),
        pattern: text(3, 5),
        part: fc.nat(6),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
          for (const { tenant, name, serial, ends } of edits) {
            const id = next.id++;
            const row = { id, tenant, name, serial };
            await db.write([insert(row)]);
            rows.set(id, row);
            const [old] = rows.values();
            if (ends === "made" || old === undefined) continue;
            if (ends === "deleted") {
              await db.write([{ sql: "delete from device where id = ?", args: [old.id] }]);
              rows.delete(old.id);
            } else {
              const args = [`${name}${old.id}`, serial, old.id];
              await db.write([
                { sql: "update device set deviceName = ?, serialNumber = ? where id = ?", args },
              ]);
              rows.set(old.id, { ...old, name, serial });
            }
          }
          const [{ name, serial, pattern: other, part }] = edits as [(typeof edits)[number]];
          for (const tenant of tenants) {
            const patterns = [
              other,
              [...name].slice(part, part + 4).join(""),
              [...(serial ?? "")].slice(-3).join(""),
            ];
            for (const pattern of patterns.flatMap((one) => [one, one.toUpperCase(), one.toLowerCase()])) {
              if (pattern === "") continue;
              const named = [{ column: "deviceName", like: true, value: pattern }] as const;
              const asked = [
                [
                  (row: Row) => `${row.name}${row.id}`,
                  (await found(db, tenant, [like("deviceName", pattern)])).ids,
                ],
                [(row: Row) => `${row.name}${row.id}`, await deviceIDsByNames(db, tenant, named, 0, 10_000)],
                [
                  (row: Row) => row.serial ?? "",
                  (await found(db, tenant, [like("serialNumber", pattern)])).ids,
                ],
              ] as const;
              for (const [column, ids] of asked) {
                const own = ids.filter((id) => id >= firstID);
                const matching = (isSame: typeof mustMatch) =>
                  [...rows.values()]
                    .filter((row) => row.tenant === tenant && isContained(column(row), pattern, isSame))
                    .map(({ id }) => id)
                    .sort((a, b) => b - a);
                const may = new Set(matching(mayMatch));
                assert.equal(
                  own.filter((id) => !may.has(id)),
                  [],
                  `too many for ${pattern}`,
                );
                const isFound = new Set(own);
                assert.equal(
                  matching(mustMatch).filter((id) => !isFound.has(id)),
                  [],
                  `missed by ${pattern}`,
                );
                assert.equal(
                  own,
                  own.toSorted((a, b) => b - a),
                );
              }
            }
          }
        }),
        { numRuns: 120 },
      );
      await db.write([{ sql: "insert into device_text (device_text) values ('integrity-check')" }]);
    }));

  test("changes() does not count what the index writes for an earlier write of the same transaction", () =>
    withDevices(1, async (db) => {
      const id = 2_000_000;
      const writes = await db.write([
        insert({ id, tenant: 1, name: "a name", serial: null }),
        { sql: "update product set productName = 'x' where id = 99" },
        {
          sql: "insert into departed_device (id, tenant, deviceID, deviceName) select 1, 1, 'x', 'x' where changes() = 1",
        },
        { sql: "update product set productName = 'y' where id = 1" },
        {
          sql: "insert into departed_device (id, tenant, deviceID, deviceName) select 2, 1, 'y', 'y' where changes() = 1",
        },
        {
          sql: "insert into departed_device (id, tenant, deviceID, deviceName) select 3, 1, 'z', 'z' where changes() = 1",
        },
      ]);
      assert.equal(
        writes.map(({ rowsAffected }) => rowsAffected),
        [1, 0, 0, 1, 1, 1],
      );
      assert.equal(await db.all("select id from departed_device order by id"), [{ id: 2 }, { id: 3 }]);
      // Two writes that come together share a transaction.
      const claim = [
        { sql: "update product set productName = 'x' where id = 99" },
        {
          sql: "insert into departed_device (id, tenant, deviceID, deviceName) select 9, 1, 'x', 'x' where changes() = 1",
        },
      ];
      const rename = { sql: "update device set deviceName = 'another' where id = ?", args: [id] };
      const note = {
        sql: "insert into change (tenant, at, action, entity, recordID) values (1, 0, 'update', 'device', 1)",
      };
      await Promise.all([db.write([]), db.write([rename, note]), db.write(claim)]);
      assert.equal(await db.all("select id from departed_device where id = 9"), []);
    }));

  test("several filters hold together, and pages follow one another", () =>
    withDevices(3000, async (db) => {
      const filters = [like("deviceName", "FILLER 12"), like("deviceID", "f1-1")];
      const expected = await db.all<{ id: number }>(
        "select id from device where tenant = 1 and deviceName like 'filler 12%' order by id desc",
      );
      const ids = expected.map(({ id }) => id);
      assert.ok(ids.length > 100);
      assert.equal(await found(db, 1, filters), { ids, count: ids.length, truncated: false });
      const third = await found(db, 1, filters, 3, 10);
      assert.equal(third, { ids: ids.slice(20, 30), count: ids.length, truncated: false });
      assert.equal((await found(db, 5000, filters)).ids, [], "another tenant's devices have other ids");
    }));

  test("matches are counted up to a bound, and every page is there all the same", () =>
    withDevices(3000, async (db) => {
      const filters = [like("deviceName", "filler")];
      const all = await db.all<{ id: number }>("select id from device where tenant = 1 order by id desc");
      const first = await found(db, 1, filters, 1, 10);
      const newest = all.map(({ id }) => id);
      assert.equal(first, { ids: newest.slice(0, 10), count: searchedMatchesMax, truncated: true });
      const far = await found(db, 1, filters, 150, 10);
      assert.equal(far, { ids: newest.slice(1490, 1500), count: 1500, truncated: true });
      const last = await found(db, 1, filters, 300, 10);
      assert.equal(last, { ids: newest.slice(2990), count: 3000, truncated: false });
    }));

  test("a search that no index serves ends after so many rows, and says so", () =>
    withDevices(searchedRowsMax + 20_000, async (db) => {
      const [newest] = await db.all<{ id: number }>("select max(id) id from device where tenant = 1");
      const own = await found(db, 1, [like("deviceName", "filler")], 1, 10);
      assert.is(own.ids[0], newest?.id, "more newer rows of another tenant than are looked at");
      const none = await found(db, 1, [like("deviceName", "zz")]);
      assert.equal(none, { ids: [], count: 0, truncated: true });
      const oldest = await found(db, 1, [like("description", "nothing like it")]);
      assert.equal(oldest, { ids: [], count: 0, truncated: true });
      const byIndex = await found(db, 1, [like("deviceID", "f1-1"), like("deviceName", "filler 1")], 1, 10);
      assert.is(byIndex.count, searchedMatchesMax);
      const few = await found(db, 1, [like("deviceName", "filler 777")], 1, 1000);
      assert.is(few.count, 1 + 10 + 100, "777, 777x, 777xx");
    }));
});
