import { existsSync } from "node:fs";
import { join } from "node:path";
import { closeAtOnce } from "../../../../store/files/closing.js";
import { SqlError } from "../../../../store/metadata/db/connection/connection.js";
import { openLocalFile } from "../../../../store/metadata/db/connection/local-file.js";
import { openShortReads } from "../../../../store/metadata/db/connection/short-reads.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const asked = (sql: string, ...args: (string | number)[]) => ({ sql, args });

suite("short reads in the calling thread", (test) => {
  test("what is committed is read, all of one call from one state, and errors have SQLite's code", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "a.db");
      const file = openLocalFile(path);
      // By a clock that stands still no read is slow, whatever else the machine does.
      const reads = openShortReads(path, () => 0);
      file.write([asked("create table t (a integer, b blob)"), asked("insert into t values (1, x'0102')")]);
      const [rows, counts] =
        reads.read([asked("select * from t where a = ?", 1), asked("select count(*) n from t")]) ?? [];
      assert.equal(rows, [{ a: 1, b: new Uint8Array([1, 2]).buffer }]);
      assert.equal(counts, [{ n: 1 }]);
      assert.throws(
        () => reads.read([asked("select nothing")]),
        (error: unknown) => error instanceof SqlError && error.code === "SQLITE_ERROR",
      );
      file.close();
      await reads.close();
      assert.not(existsSync(`${path}-wal`), "the last one to close puts the log into the file");
      assert.is(reads.read([asked("select 1")]), null);
    }));

  test("after a slow one others are sent elsewhere, for fifty times as long", () =>
    withTempDir(async (dir) => {
      let [at, takes] = [1000, 2];
      const reads = openShortReads(join(dir, "a.db"), () => {
        at += takes / 2;
        return at;
      });
      reads.read([asked("select 1 a")]);
      const read = () => reads.read([asked("select 1 a")]);
      assert.equal([read(), read()], [[[{ a: 1 }]], [[{ a: 1 }]]]);
      takes = 40;
      assert.equal(read(), [[{ a: 1 }]]);
      const slowAt = at;
      takes = 2;
      let refused = 0;
      while (read() === null) refused++;
      assert.ok(refused > 100);
      const restedMs = at - slowAt;
      assert.ok(restedMs > 900 && restedMs < 1100, `${restedMs} ms`);
      assert.equal(read(), [[{ a: 1 }]]);
      await reads.close();
    }));

  test("one that would wait for a lock is to be asked elsewhere", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "a.db");
      const reads = openShortReads(path);
      const other = openLocalFile(path);
      other.read([asked("pragma locking_mode = exclusive")]);
      other.write([asked("create table t (a integer)"), asked("insert into t values (1)")]);
      assert.is(reads.read([asked("select * from t")]), null);
      await closeAtOnce(other, path);
      assert.equal(reads.read([asked("select a from t")]), [[{ a: 1 }]]);
      await reads.close();
    }));
});
