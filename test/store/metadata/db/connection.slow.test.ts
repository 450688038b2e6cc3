import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Worker } from "node:worker_threads";
import fc from "fast-check";
import type { StoreError } from "../../../../store/lib/errors.js";
import { type DatabaseConnection, SqlError } from "../../../../store/metadata/db/connection/connection.js";
import { openInThread } from "../../../../store/metadata/db/connection/in-thread.js";
import { openLocalFile } from "../../../../store/metadata/db/connection/local-file.js";
import { openLocalThreads } from "../../../../store/metadata/db/connection/local-threads.js";
import { openDb } from "../../../../store/metadata/db/db.js";
import { assert, rejects, suite, until, watchTurns, withTempDir } from "../../../suite.js";

type Opens = (path: string) => Promise<DatabaseConnection>;
const ways: readonly (readonly [string, Opens])[] = [
  ["threads of its own", openLocalThreads],
  ["the calling thread", async (path) => openInThread(path)],
];

async function withFile(open: Opens, work: (connection: DatabaseConnection, path: string) => Promise<void>) {
  await withTempDir(async (dir) => {
    const path = join(dir, "a.db");
    const connection = await open(path);
    await work(connection, path);
    await connection.close();
  });
}

const asked = (sql: string, ...args: (string | number | null | Uint8Array)[]) => ({ sql, args });
const rowsOf = async (connection: DatabaseConnection, sql: string, ...args: (string | number)[]) =>
  (await connection.read([asked(sql, ...args)])).rows[0] ?? [];

async function refusal(action: Promise<unknown>): Promise<SqlError> {
  const error = await action.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SqlError)) throw new Error(`no SqlError: ${String(error)}`);
  return error;
}

/** Counts to `n` within SQLite: a second is some three million. */
const counting = (n: number) =>
  asked(
    "with recursive c(i) as (select 1 union all select i + 1 from c where i < ?) select max(i) n from c",
    n,
  );

/** Workers that are started while `work` runs. */
async function workersOf(work: () => Promise<unknown>): Promise<Worker[]> {
  const workers: Worker[] = [];
  const note = (worker: Worker) => workers.push(worker);
  process.on("worker", note);
  await work();
  process.off("worker", note);
  return workers;
}

const value = fc.oneof(
  fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", "")),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.maxSafeInteger(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 20 }),
);

for (const [way, open] of ways) {
  suite(`a connection to a file, in ${way}`, (test) => {
    test("rows hold what was written, of every type", () =>
      withFile(open, async (connection) => {
        await connection.write([asked("create table t (id integer primary key, a any, b any) strict")]);
        await fc.assert(
          fc.asyncProperty(fc.array(fc.tuple(value, value), { maxLength: 30 }), async (all) => {
            const inserts = all.map(([a, b]) => asked("insert into t (a, b) values (?, ?)", a, b));
            const made = await connection.write([asked("delete from t"), ...inserts]);
            assert.ok(
              made.slice(1).every(({ rowsAffected, rows }) => rowsAffected === 1 && rows.length === 0),
            );
            const ids = made.slice(1).map(({ lastInsertRowid }) => lastInsertRowid);
            const found = await rowsOf(connection, "select * from t order by id");
            assert.equal(
              found.map(({ id }) => id),
              ids,
            );
            const stored = (one: (typeof all)[number][number]) =>
              one instanceof Uint8Array ? [...one] : one === 0 ? 0 : one;
            const shown = (one: unknown) => (one instanceof ArrayBuffer ? [...new Uint8Array(one)] : one);
            assert.equal(
              found.map(({ a, b }) => [shown(a), shown(b)]),
              all.map(([a, b]) => [stored(a), stored(b)]),
            );
          }),
          { numRuns: 100 },
        );
      }));

    test("the first of several columns with one name counts; a column that is added later is there", () =>
      withFile(open, async (connection) => {
        await connection.write([asked("create table t (a integer)"), asked("insert into t values (1)")]);
        assert.equal(await rowsOf(connection, "select a, 2 a, 3 b from t"), [{ a: 1, b: 3 }]);
        const all = "select * from t";
        assert.equal(await rowsOf(connection, all), [{ a: 1 }]);
        await connection.write([asked("alter table t add column b text default 'x'")]);
        assert.equal(await rowsOf(connection, all), [{ a: 1, b: "x" }]);
        assert.equal(await rowsOf(connection, all), [{ a: 1, b: "x" }]);
      }));

    test("a refused write leaves nothing, says why with SQLite's code, and the next one succeeds", () =>
      withFile(open, async (connection) => {
        await connection.write([asked("create table t (a integer unique)")]);
        const insert = asked("insert into t values (?)", 1);
        const error = await refusal(connection.write([insert, insert]));
        assert.is(error.code, "SQLITE_CONSTRAINT");
        assert.match(error.message, /UNIQUE constraint failed: t\.a/);
        assert.is((await refusal(connection.read([asked("select nothing")]))).code, "SQLITE_ERROR");
        const [made] = await connection.write([asked("insert into t values (?) returning a + 1 b", 1)]);
        assert.equal(made?.rows, [{ b: 2 }]);
      }));

    test("a file that is no database is refused with the code that says so", () =>
      withTempDir(async (dir) => {
        const path = join(dir, "a.db");
        await writeFile(path, "no database ".repeat(500));
        const opening = Promise.resolve().then(() => open(path));
        assert.is((await refusal(opening)).code, "SQLITE_NOTADB");
      }));
  });
}

/** Both readers have opened the file. */
async function warmUp({ read }: DatabaseConnection): Promise<void> {
  const workers = new Set<Worker>();
  process.on("worker", (worker) => workers.add(worker));
  await until(
    async () => {
      await Promise.all([read([counting(100_000)]), read([counting(100_000)])]);
      return workers.size >= 2;
    },
    { what: "two readers" },
  );
  process.removeAllListeners("worker");
}

suite("threads with connections", (test) => {
  test("closing waits for what was asked before, and puts the write-ahead log into the file", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "a.db");
      const connection = await openLocalThreads(path);
      await connection.write([asked("create table t (a integer)")]);
      const calls = Promise.all([
        connection.write([asked("insert into t values (1)")]),
        connection.read([counting(500_000)]),
      ]);
      await connection.close();
      const [, read] = await calls;
      assert.equal(read.rows, [[{ n: 500_000 }]]);
      assert.not(existsSync(`${path}-wal`));
      const again = await openLocalThreads(path);
      assert.equal(await rowsOf(again, "select a from t"), [{ a: 1 }]);
      await again.close();
    }));

  test("a store that is being closed writes what was asked before, and is away after it", () =>
    withTempDir(async (dir) => {
      const url = `file:${join(dir, "metadata.db")}`;
      const db = await openDb({ url, shared: false });
      const insert = (name: string) => ({
        sql: "insert into tenant (tenantID, tenantName, createAt) values (?1, ?1, 0)",
        args: [name],
      });
      const writes = Promise.all(["a", "b", "c"].map((name) => db.write([insert(name)])));
      const many = db.write(Array.from({ length: 200 }, (_, i) => insert(`d${i}`)));
      await db.close();
      await Promise.all([writes, many]);
      const error = await rejects(() => db.write([insert("e")]));
      assert.is((error as StoreError).code, "UNAVAILABLE");
      const again = await openDb({ url, shared: false });
      assert.is((await again.first<{ n: number }>("select count(*) n from tenant"))?.n, 203);
      await again.close();
    }));

  test("however many search, a request for a record waits for a step or two", () =>
    withFile(openLocalThreads, async (connection) => {
      await warmUp(connection);
      const ends: string[] = [];
      const search = async () => {
        for (let i = 0; i < 10; i++) await connection.read([counting(30_000)], true);
        ends.push("search");
      };
      const searches = Promise.all(Array.from({ length: 20 }, search));
      for (let i = 0; i < 20; i++) await rowsOf(connection, "select 1 a").then(() => ends.push("record"));
      const before = ends.indexOf("search");
      assert.ok(before === -1 || before >= 20, `a search ended after ${before} records`);
      await searches;
      assert.is(ends.length, 40);
    }));

  test("a long read holds up neither the loop nor other reads and writes", () =>
    withFile(openLocalThreads, async (connection) => {
      await connection.write([asked("create table t (a integer)")]);
      await warmUp(connection);
      const ends: string[] = [];
      const turns = watchTurns();
      const long = connection.read([counting(3_000_000)]).then(() => ends.push("long"));
      await connection.write([asked("insert into t values (1)")]).then(() => ends.push("write"));
      await rowsOf(connection, "select * from t").then(() => ends.push("read"));
      await long;
      const { longestMs } = turns.stop();
      assert.equal(ends, ["write", "read", "long"]);
      assert.ok(longestMs < 100, `the longest turn took ${longestMs} ms`);
    }));

  test("a write-ahead log that has grown is emptied, also while others read", () =>
    withFile(openLocalThreads, async (connection, path) => {
      await connection.write([asked("create table t (a blob)")]);
      await warmUp(connection);
      const mebibytes = async (count: number) => {
        for (let i = 0; i < count; i++)
          await connection.write([asked("insert into t values (zeroblob(1048576))")]);
      };
      await mebibytes(12);
      const reader = openLocalFile(path);
      reader.read([asked("begin")]);
      reader.read([asked("select count(*) n from t")]);
      await mebibytes(20);
      const { size: held } = await stat(`${path}-wal`);
      assert.ok(held > 16 * 2 ** 20, `beside the reader the log has ${held} bytes`);
      reader.read([asked("commit")]);
      reader.close();
      await mebibytes(2);
      const { size } = await stat(`${path}-wal`);
      assert.ok(size < 4 * 2 ** 20, `the log has ${size} bytes`);
      assert.equal(await rowsOf(connection, "select count(*) n from t"), [{ n: 34 }]);
    }));

  test("after a try to empty the log beside a reader, statements wait for locks as long as before", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "a.db");
      const [file, reader] = [openLocalFile(path), openLocalFile(path)];
      file.write([asked("create table t (a blob)")]);
      const waits = () => file.read([asked("pragma busy_timeout")])[0]?.rows;
      const usual = waits();
      reader.read([asked("begin")]);
      reader.read([asked("select count(*) n from t")]);
      for (let i = 0; i < 17; i++) file.write([asked("insert into t values (zeroblob(1048576))")]);
      assert.equal(waits(), usual);
      reader.read([asked("commit")]);
      reader.close();
      file.close();
    }));

  test("the process ends with its own code, whatever the threads are doing", () =>
    withTempDir(async (dir) => {
      const program = fileURLToPath(new URL("./exit.child.js", import.meta.url));
      for (const [n, counted] of [1, 1, 100, 100, 500_000].entries()) {
        const child = spawn(process.execPath, [
          program,
          join(dir, `${n}.db`),
          String(200 + 37 * n),
          String(counted),
        ]);
        const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
        assert.equal([code, signal], [3, null], `rows: ${counted}`);
      }
    }));

  test("statements asked together see one state, whatever is written meanwhile", () =>
    withFile(openLocalThreads, async (connection) => {
      await connection.write([asked("create table t (a integer)")]);
      await warmUp(connection);
      const count = asked("select count(*) n from t");
      /** Whether all was written while the statements ran. */
      const attempt = async (): Promise<boolean> => {
        await connection.write([asked("delete from t")]);
        let isRead = false;
        const asking = connection.read([count, counting(3_000_000), count]).finally(() => {
          isRead = true;
        });
        // Most often its first statement has begun once another read, asked for after it, is answered.
        await rowsOf(connection, "select 1 a");
        for (let i = 0; i < 5; i++) await connection.write([asked("insert into t values (1)")]);
        const isWrittenFirst = !isRead;
        const [before, , after] = (await asking).rows;
        assert.equal(before, after);
        assert.equal(await rowsOf(connection, "select count(*) n from t"), [{ n: 5 }]);
        return isWrittenFirst && before?.[0]?.n === 0;
      };
      await until(attempt, { what: "writes between the statements" });
    }));

  test("a long answer is read piece by piece", () =>
    withFile(openLocalThreads, async (connection) => {
      const size = 20_000;
      const text = "x".repeat(200);
      const turns = watchTurns();
      const rows = await rowsOf(
        connection,
        "with recursive c(i) as (select 1 union all select i + 1 from c where i < ?) select i, ? text, cast(i as blob) b from c",
        size,
        text,
      );
      const { longestMs } = turns.stop();
      assert.is(rows.length, size);
      for (const [n, { i, text: found, b }] of rows.entries()) {
        if (i !== n + 1 || found !== text || Buffer.from(b as ArrayBuffer).toString() !== String(i)) {
          assert.unreachable(`row ${n} is another`);
        }
      }
      assert.ok(longestMs < 100, `the longest turn took ${longestMs} ms`);
    }));

  test("after a thread has ended another takes its place, but not once the file is closed", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "a.db");
      let connection: DatabaseConnection | undefined;
      const [writer] = await workersOf(async () => {
        connection = await openLocalThreads(path);
      });
      if (connection === undefined || writer === undefined) throw new Error("nothing was opened");
      const { read, write, close } = connection;
      await write([asked("create table t (a integer)"), asked("insert into t values (1)")]);
      const [reader] = await workersOf(() => read([asked("select * from t")]));
      await Promise.all([writer.terminate(), reader?.terminate()]);
      await write([asked("insert into t values (2)")]);
      assert.equal((await read([asked("select * from t")])).rows, [[{ a: 1 }, { a: 2 }]]);
      await close();
      assert.is((await refusal(read([asked("select 1")]))).code, "CLOSED");
    }));
});
