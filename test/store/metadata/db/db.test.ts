import { join } from "node:path";
import fc from "fast-check";
import { StoreError } from "../../../../store/lib/errors.js";
import { changed } from "../../../../store/metadata/db/changes.js";
import { openDb } from "../../../../store/metadata/db/db.js";
import {
  controlSchema,
  deletedSchema,
  removalsSchema,
  schemaVersion,
} from "../../../../store/metadata/db/migrations.js";
import { schema } from "../../../../store/metadata/db/schema.js";
import { dataSchema } from "../../../../store/metadata/db/schema-data.js";
import { influxSchema } from "../../../../store/metadata/db/schema-influx.js";
import { logBytesSchema } from "../../../../store/metadata/db/schema-log-bytes.js";
import { resourcesSchema } from "../../../../store/metadata/db/schema-resources.js";
import { cleanText } from "../../../../store/metadata/db/sql-values.js";
import { assert, openTempDir, rejects, suite } from "../../../suite.js";

const standIn = (text: string): string => text.toWellFormed().replaceAll("\0", "\u0001");

suite("metadata store", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let count = 0;
  const fresh = () => ({ url: `file:${join(dir.path, `${++count}.db`)}`, shared: false });
  test.before(async () => {
    dir = await openTempDir();
  });
  test.after(() => dir.close());

  const insertTenant = (name: string, tenantID = `C${name.length}`) => ({
    sql: "insert into tenant (tenantID, tenantName, createAt) values (?, ?, 0)",
    args: [tenantID, name],
  });

  test("stores any text well-formed and without NUL, and reads it back whole", async () => {
    const db = await openDb(fresh());
    await db.write([{ sql: "create table words (id integer primary key, word text) strict" }]);
    const texts = ["\ud800", "a\udfffb", "\0", "before\0after", "😀", "\ufeffbom", "𝟘".repeat(1000), ""];
    const words = fc.oneof(fc.constantFrom(...texts), fc.string({ unit: "binary" }));
    await fc.assert(
      fc.asyncProperty(fc.array(words, { minLength: 1, maxLength: 20 }), async (all) => {
        await db.write([
          { sql: "delete from words" },
          ...all.map((word) => ({ sql: "insert into words (word) values (?)", args: [word] })),
        ]);
        const rows = await db.all<{ word: string }>("select word from words order by id");
        assert.equal(
          rows.map(({ word }) => word),
          all.map((word) => word.toWellFormed().replaceAll("\0", "")),
        );
        // A search for the same text finds it, unless it has a NUL: such a text is nobody's.
        const [first = ""] = all;
        const found = await db.first("select 1 found from words where word = ?", [first]);
        assert.is(
          found !== undefined,
          !first.includes("\0") || rows.some(({ word }) => word === standIn(first)),
        );
        const inList = "select 1 found from words where word in (select value from json_each(?))";
        if (first.isWellFormed())
          assert.is((await db.first(inList, [[first]])) !== undefined, found !== undefined);
      }),
      { numRuns: 100, endOnFailure: true },
    );
    await db.close();
  });

  test("keeps JSON with lone surrogates readable", async () => {
    const db = await openDb(fresh());
    await db.write([
      { sql: "create table bags (bag text) strict" },
      { sql: "insert into bags values (?)", args: [{ key: "\ud800", nul: "a\0b" }] },
    ]);
    const row = await db.first<{ bag: string }>("select bag from bags");
    assert.type(JSON.parse(row?.bag ?? "").key, "string");
    await db.close();
  });

  test("a remote store that is not there is away for now", async () => {
    // Port 1 is nobody's.
    const error = await rejects(() => openDb({ url: "http://127.0.0.1:1", shared: true }));
    assert.ok(error instanceof StoreError && error.code === "UNAVAILABLE");
  });

  test("cleaning is idempotent", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => cleanText(cleanText(text)) === cleanText(text)),
    );
  });

  test("a batch is stored whole or not at all, and a taken name is CONFLICT with its field", async () => {
    const db = await openDb(fresh());
    await db.write([insertTenant("one")]);
    const error = await rejects(() => db.write([insertTenant("four"), insertTenant("two", "C3")]));
    assert.instance(error, StoreError);
    assert.is((error as StoreError).code, "CONFLICT");
    assert.ok((error as StoreError).fields.tenantID);
    const { n } = (await db.first<{ n: number }>("select count(*) n from tenant")) ?? { n: -1 };
    assert.is(n, 1);
    await db.close();
  });

  test("notifies listeners of committed writes that are in the log of changes, and of those only", async () => {
    const db = await openDb(fresh());
    let told = 0;
    db.onWrite(() => void told++);
    let toldAfter = 0;
    db.afterWrite(async () => {
      toldAfter++;
      // One that writes itself would wait for its own turn for ever, if writes waited for it.
      if (toldAfter === 1) await db.write([insertTenant("of the listener", "C5")]);
    });
    const traced = (name: string, code?: string) => [
      insertTenant(name, code),
      changed({ tenant: 1, userIntID: null, username: null }, 0, "create", "tenant", 1),
    ];
    await db.write(traced("one"));
    await rejects(() => db.write(traced("two", "C3")));
    assert.equal([told, toldAfter], [1, 1]);
    await db.write([insertTenant("three", "C4")]);
    assert.equal([told, toldAfter], [1, 1], "nobody follows what leaves no trace");
    await db.exclusive(async () => undefined);
    assert.equal([told, toldAfter], [2, 2]);
    await db.close();
  });

  test("opens again without touching what is there", async () => {
    const options = fresh();
    const first = await openDb(options);
    await first.write([insertTenant("one")]);
    await first.close();
    const second = await openDb(options);
    assert.equal(await second.all("select tenantName from tenant"), [{ tenantName: "one" }]);
    assert.equal(await second.all("select version from format"), [{ version: schemaVersion }]);
    await second.close();
  });

  test("a folder of format 8 is read on, without the table that nobody used", async () => {
    const options = fresh();
    const { createClient } = await import("@libsql/client");
    const client = createClient({ url: options.url });
    const before = [
      ...[schema, resourcesSchema, controlSchema, dataSchema],
      ...[removalsSchema, influxSchema, deletedSchema, logBytesSchema],
    ];
    await client.batch(
      [
        "create table format (version integer not null) strict",
        { sql: "insert into format values (?)", args: [before.length] },
        ...before.flat(),
        insertTenant("one"),
        "insert into unreleased (node, device, session, messageID) values (0, 1, 2, 3)",
      ],
      "write",
    );
    client.close();
    const db = await openDb(options);
    assert.is(before.length, 8);
    assert.equal(await db.all("select version from format"), [{ version: schemaVersion }]);
    assert.equal(await db.all("select tenantName from tenant"), [{ tenantName: "one" }]);
    assert.equal(await db.all("select 1 from sqlite_master where name = 'unreleased'"), []);
    await db.close();
    const fresher = await openDb(fresh());
    assert.equal(await fresher.all("select 1 from sqlite_master where name = 'unreleased'"), []);
    await fresher.close();
  });

  test("refuses a newer format and leaves it as it is", async () => {
    const options = fresh();
    const first = await openDb(options);
    await first.write([
      { sql: "update format set version = ?", args: [schemaVersion + 1] },
      insertTenant("newer"),
    ]);
    await first.close();
    const error = await rejects(() => openDb(options), new RegExp(`format ${schemaVersion + 1}`));
    assert.is((error as StoreError).code, "INVALID");
    const { createClient } = await import("@libsql/client");
    const client = createClient({ url: options.url });
    const { rows } = await client.execute("select version from format");
    assert.is(Number(rows[0]?.version), schemaVersion + 1);
    client.close();
  });
});
