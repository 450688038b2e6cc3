import { join } from "node:path";
import fc from "fast-check";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { countedRowsMax, listRows } from "../../../../store/metadata/db/list-rows.js";
import {
  integerColumn,
  type Listing,
  type PageRequest,
  textColumn,
} from "../../../../store/metadata/db/table.js";
import { assert, openTempDir, suite } from "../../../suite.js";

interface Word {
  readonly id: number;
  readonly word: string | null;
  readonly size: number;
}

const listing: Listing = {
  select: "r.id, r.word, r.size, t.tenantName",
  from: "word r join tenant t on t.id = r.tenant left join word w on w.id = r.size",
  filters: {
    word: textColumn("word"),
    size: integerColumn("size"),
    tenantName: { column: "t.tenantName", type: "text" },
  },
};

suite("pages of a table", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  test.before(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${join(dir.path, "table.db")}`, shared: false });
    await db.write([
      {
        sql: "insert into tenant (tenantID, tenantName, createAt) values ('C1', 'one', 0), ('C2', 'two', 0)",
      },
      {
        sql: `create table word (id integer primary key autoincrement, tenant integer not null, word text,
          size integer not null) strict`,
      },
    ]);
  });
  test.after(async () => {
    await db.close();
    await dir.close();
  });

  async function store(words: readonly (string | null)[]): Promise<Word[]> {
    const rows = words.map((word, i) => ({ id: i + 1, word, size: i % 3 }));
    await db.write([
      { sql: "delete from word" },
      ...rows.map(({ id, word, size }) => ({
        sql: "insert into word (id, tenant, word, size) values (?, 1, ?, ?)",
        args: [id, word, size],
      })),
      { sql: "insert into word (id, tenant, word, size) values (1000000, 2, 'of another tenant', 0)" },
    ]);
    return rows.reverse();
  }

  const ask = (request: Partial<PageRequest>) =>
    listRows<Word>(db, listing, 1, { page: 1, limit: 10, filters: [], ...request });
  const containing = async (value: string) =>
    (await ask({ limit: 1000, filters: [{ field: "word", like: true, value }] })).items.map(
      ({ word }) => word,
    );

  test("a list of very many rows says that there are at least so many", async () => {
    const words = (n: number) => ({
      sql: `insert into word (tenant, word, size) with recursive c(i) as (select 1 union all select i + 1 from c where i < ?)
        select 1, 'w', 0 from c`,
      args: [n],
    });
    await db.write([{ sql: "delete from word" }, words(countedRowsMax)]);
    const exact = await ask({ filters: [{ field: "size", like: false, value: 0 }] });
    assert.equal([exact.items.length, exact.count, exact.truncated], [10, countedRowsMax, false]);
    await db.write([words(1)]);
    for (const filters of [[], [{ field: "size", like: false, value: 0 }]]) {
      const page = await ask({ filters });
      assert.equal([page.items.length, page.count, page.truncated], [10, countedRowsMax, true]);
    }
  });

  test("any page under any filter has the rows and the count that a plain reading gives", async () => {
    const all = await store(Array.from({ length: 700 }, (_, i) => (i % 11 === 0 ? null : `Word ${i}`)));
    const requests = fc.record({
      page: fc.integer({ min: 1, max: 80 }),
      limit: fc.constantFrom(1, 7, 10, 250, 1000),
      like: fc.constantFrom(null, "word", "WORD 1", "d 69", "nothing"),
      size: fc.constantFrom(null, 0, 2, 9),
      joined: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(requests, async ({ page, limit, like, size, joined }) => {
        const filters = [
          ...(like === null ? [] : [{ field: "word", like: true, value: like }]),
          ...(size === null ? [] : [{ field: "size", like: false, value: size }]),
          ...(joined ? [{ field: "tenantName", like: false, value: "one" }] : []),
        ];
        const matching = all.filter(
          (row) =>
            (like === null || row.word?.toLowerCase().includes(like.toLowerCase()) === true) &&
            (size === null || row.size === size),
        );
        const found = await ask({ page, limit, filters });
        assert.is(found.count, matching.length);
        assert.equal(
          found.items.map((row) => row.id),
          matching.slice((page - 1) * limit, page * limit).map((row) => row.id),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("a scope restricts items and count, and its arguments stand where it does", async () => {
    const all = await store(["a", "b", "c", "d", "e", "f", "g"]);
    const scope = { sql: "r.size = ? or r.size = ?", args: [1, 2] };
    const request = { page: 1, limit: 2, filters: [{ field: "word", like: true, value: "" }] };
    const found = await listRows<Word>(db, listing, 1, request, scope);
    assert.equal([found.count, found.items.map(({ id }) => id)], [4, [6, 5]]);
    assert.equal(all.length, 7);
  });

  test("what means something to a pattern stands for itself", async () => {
    const words = ["100%", "a_b", "back\\slash", "[x]", "ü*?", "Ü[*]?-^", "plain"];
    await store(words);
    for (const [value, ...found] of [
      ["%", "100%"],
      ["_", "a_b"],
      ["\\", "back\\slash"],
      ["[x]", "[x]"],
      ["Ü*?", "ü*?"],
      ["ü[*]?-^", "Ü[*]?-^"],
      ["Ü[", "Ü[*]?-^"],
      ["?", "Ü[*]?-^", "ü*?"],
      ["LAIN", "plain"],
      ["x".repeat(60_000)],
      [`${"ü".repeat(4_000)}`],
    ]) {
      assert.equal(await containing(value ?? ""), found, (value ?? "").slice(0, 20));
    }
  });

  test("case does not count in any script that has it", async () => {
    const words = ["Zürich", "МОСКВА", "Αθήνα", "Straße", "水位站"];
    await store(words);
    for (const word of words) {
      for (const value of [word, word.slice(1, 4), word.toLowerCase()]) {
        assert.equal(await containing(value), [word], value);
      }
    }
    assert.equal(await containing("ZÜRICH"), ["Zürich"]);
    assert.equal(await containing("москва"), ["МОСКВА"]);
  });

  test("a text is contained in itself, whatever it is, and in nothing that lacks it", async () => {
    const letters = fc.string({ unit: fc.constantFrom(..."aAüÜ%_\\[]*?^-水"), minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(letters, { minLength: 1, maxLength: 8 }), letters, async (words, value) => {
        const all = await store(words);
        const expected = all.filter(({ word }) => word?.toLowerCase().includes(value.toLowerCase()) === true);
        assert.equal(
          await containing(value),
          expected.map(({ word }) => word),
        );
      }),
      { numRuns: 150 },
    );
  });
});
