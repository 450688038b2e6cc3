import fc from "fast-check";
import { containsText } from "../../../../src/http/text-search.js";
import { containing } from "../../../../store/metadata/db/containing.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { listRows } from "../../../../store/metadata/db/list-rows.js";
import { createSteps, spansOf } from "../../../../store/metadata/db/steps.js";
import { type Listing, textColumn } from "../../../../store/metadata/db/table.js";
import { deviceIDsByNames } from "../../../../store/metadata/devices/names.js";
import { createTenant } from "../../../../store/metadata/users/tenants.js";
import { assert, openTempDir, suite } from "../../../suite.js";

const letters = fc.constantFrom(...("aAbBkKzZ %_\\*?[]'\"äÄßẞøØжЖσΣςİıﬁǅ温度🦉".match(/./gu) ?? []));
const words = (maxLength: number) => fc.array(letters, { maxLength }).map((all) => all.join(""));

/** Every form of a character's case that is one character. */
const forms = (one: string): Set<string> =>
  new Set([one, one.toLowerCase(), one.toUpperCase()].filter((form) => [...form].length === 1));

/** A plain model: somewhere every character of the pattern matches itself or its other case. */
function isContained(whole: string, pattern: string): boolean {
  const [in_, of] = [[...whole], [...pattern]];
  return in_.some((_, at) => of.every((one, i) => forms(one).has(in_[at + i] ?? "")));
}

suite("searching", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  test.before(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
  });
  test.after(async () => {
    await db.close();
    await dir.close();
  });
  const holds = async (whole: string, pattern: string): Promise<boolean> => {
    const { sql, args = [] } = containing("d.t", pattern);
    const row = await db.first<{ hit: number }>(`select (${sql}) hit from (select ? t) d`, [...args, whole]);
    return row?.hit === 1;
  };

  test("a text contains another in either case of each letter; signs stand for themselves", async () => {
    await fc.assert(
      fc.asyncProperty(words(12), words(4), fc.nat(12), async (whole, other, at) => {
        const part = [...whole].slice(at, at + 4).join("");
        for (const pattern of [other, part, part.toUpperCase(), part.toLowerCase()]) {
          if (pattern === "") continue;
          if (isContained(whole, pattern)) assert.ok(await holds(whole, pattern), `${pattern} in ${whole}`);
        }
        // Letters with exactly two cases match nothing else.
        const plain = [...other].every((one) => !/[ßẞσΣςİıﬁǅ]/.test(one));
        if (other !== "" && plain && !isContained(whole, other))
          assert.is(await holds(whole, other), false, `${other} in ${whole}`);
      }),
      { numRuns: 500 },
    );
  });

  test("a pattern of 256 letters that all have another case is taken", async () => {
    const cyrillic = Array.from({ length: 256 }, (_, i) => String.fromCodePoint(0x400 + (i % 0x60))).join("");
    assert.ok(await holds(`x${cyrillic.toLowerCase()}x`, cyrillic));
    assert.is(await holds(cyrillic.slice(1), cyrillic), false);
  });

  test("a text of payloads is found as it is by trying every place", () => {
    const few = (maxLength: number) =>
      fc.array(fc.constantFrom("a", "A", "b"), { maxLength }).map((all) => all.join(""));
    fc.assert(
      fc.property(few(60), few(14), (whole, pattern) => {
        assert.is(containsText(whole, pattern), whole.toLowerCase().includes(pattern.toLowerCase()));
      }),
      { numRuns: 3000 },
    );
  });

  test("what is slow to look through is looked through in steps, and found whole", async () => {
    const { id: tenant } = await createTenant(db, 0, "long");
    const { id: other } = await createTenant(db, 0, "other");
    const insert = (owner: number, i: number, description: string) => ({
      sql: "insert into product (tenant, productID, productName, description, cloudProtocol, createAt) values (?, ?, ?, ?, 1, 0)",
      args: [owner, `${owner}-${i}`, `p${i}`, description],
    });
    const long = "a".repeat(4096);
    await db.write(
      Array.from({ length: 600 }, (_, i) =>
        insert(i % 4 === 3 ? other : tenant, i, i % 50 === 0 ? `${long}b` : long),
      ),
    );
    const listing: Listing = {
      select: "r.id",
      from: "product r",
      filters: { description: textColumn("description") },
    };
    const statements: number[] = [];
    const counting: Db = {
      ...db,
      inStep: async (sql, args) => {
        const found = await db.inStep(sql, args);
        statements.push(found.rows.length);
        return found as never;
      },
    };
    const filters = [{ field: "description", like: true, value: `${"A".repeat(255)}b` }];
    const all = await listRows<{ id: number }>(counting, listing, tenant, { page: 1, limit: 1000, filters });
    const expected = await db.all<{ id: number }>(
      "select id from product where tenant = ? and description like '%b' order by id desc",
      [tenant],
    );
    assert.ok(expected.length > 3);
    assert.equal(
      all.items.map(({ id }) => id),
      expected.map(({ id }) => id),
    );
    assert.is(all.count, expected.length);
    assert.ok(statements.length > 4, `${statements.length} statements`);
    const second = await listRows<{ id: number }>(db, listing, tenant, { page: 2, limit: 2, filters });
    assert.equal(
      [second.items.map(({ id }) => id), second.count],
      [expected.slice(2, 4).map(({ id }) => id), expected.length],
    );
  });

  test("spans cover every row once, however the steps change", async () => {
    const { id: tenant } = await createTenant(db, 0, "spans");
    await db.write(
      Array.from({ length: 300 }, (_, i) => ({
        sql: "insert into departed_device (id, tenant, deviceID, deviceName) values (?, ?, ?, ?)",
        args: [10_000 + 3 * i, tenant, `d${i}`, `Name ${i}`],
      })),
    );
    const steps = createSteps(db, 7, 64);
    const seen: number[] = [];
    const own = { sql: "r.tenant = ?", args: [tenant] };
    for await (const { from, before } of spansOf(db, "departed_device", own, steps)) {
      const rows = await steps.run((all) =>
        all<{ id: number }>(
          "select id from departed_device where tenant = ? and id >= ? and id < ? order by id desc",
          [tenant, from, before],
        ),
      );
      seen.push(...rows.map(({ id }) => id));
    }
    assert.equal(
      seen,
      Array.from({ length: 300 }, (_, i) => 10_000 + 3 * (299 - i)),
    );
    const named = [{ column: "deviceName", like: true, value: "NAME 29" }] as const;
    assert.is((await deviceIDsByNames(db, tenant, named, 0, 1000)).length, 11);
    assert.equal(await deviceIDsByNames(db, tenant, named, 10_000 + 3 * 290, 1000), [10_000 + 3 * 290]);
    assert.is((await deviceIDsByNames(db, tenant, named, 0, 4)).length, 5);
  });
});
