import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "../../../store/files/connection.js";
import { beginDatabaseCopy, copyDatabase } from "../../../store/files/copy-database.js";
import { unthrottled } from "../../../store/files/copy-file.js";
import { integrityFault } from "../../../store/files/integrity.js";
import { assert, suite, withTempDir } from "../../suite.js";

/** Rows that point to each other: a copy of two moments would not add up. */
async function openWritten(path: string) {
  const client = connect(path);
  await client.execute("pragma journal_mode = wal");
  await client.execute("create table t (id integer primary key, n integer, filler blob)");
  await client.execute("create index t_n on t (n)");
  await client.execute("create table total (n integer)");
  await client.execute("insert into total values (0)");
  let n = 0;
  const write = async (rows: number): Promise<void> => {
    for (let i = 0; i < rows; i++) {
      n++;
      await client.batch(
        [
          { sql: "insert into t (n, filler) values (?, randomblob(3000))", args: [n] },
          { sql: "delete from t where n = ?", args: [n - 300] },
          "update total set n = (select count(*) from t)",
        ],
        "write",
      );
    }
  };
  const checkpoint = async (): Promise<readonly unknown[]> => {
    const { rows } = await client.execute("pragma wal_checkpoint(truncate)");
    return Array.from({ length: 3 }, (_, i) => rows[0]?.[i]);
  };
  return { client, write, checkpoint, written: () => n };
}

async function countsOf(path: string): Promise<readonly number[]> {
  const client = connect(path);
  const { rows } = await client.execute(
    "select (select count(*) from t), (select n from total), (select max(n) from t)",
  );
  client.close();
  return [0, 1, 2].map((i) => Number(rows[0]?.[i]));
}

suite("copies of databases in use", (test) => {
  test("one whose place another takes meanwhile, at whatever moment, is copied anew", () =>
    withTempDir(async (dir) => {
      for (let moment = 0; moment < 4; moment++) {
        const [from, next, to] = ["a.db", "next.db", "copy.db"].map((name) =>
          join(dir, `${moment}-${name}`),
        ) as [string, string, string];
        const old = await openWritten(from);
        await old.write(50);
        const made = await openWritten(next);
        await made.write(20);
        assert.is((await made.checkpoint())[0], 0);
        made.client.close();
        // Called before each piece: of the file, then of its log.
        let pieces = 0;
        await copyDatabase(from, to, async () => {
          if (pieces++ !== moment) return;
          // As the sessions' file is made again from its journal.
          for (const suffix of ["-wal", "-shm"]) await rm(from + suffix, { force: true });
          await rename(next, from);
        });
        old.client.close();
        assert.is(await integrityFault(to), null);
        const isReplaced = pieces > moment;
        assert.equal(
          await countsOf(to),
          isReplaced ? [20, 20, 20] : [50, 50, 50],
          `piece ${moment} of ${pieces}`,
        );
        assert.ok(moment > 0 || isReplaced);
      }
    }));

  test("a copy that is under way keeps the log from going, and is as of its end", () =>
    withTempDir(async (dir) => {
      const [from, to] = [join(dir, "a.db"), join(dir, "copy.db")];
      const { client, write, checkpoint, written } = await openWritten(from);
      await write(100);
      const copy = await beginDatabaseCopy(from, to, unthrottled);
      await write(100);
      assert.is((await checkpoint())[0], 1, "the log cannot be emptied while the copy is under way");
      await write(50);
      await copy.finish();
      assert.is((await checkpoint())[0], 0, "it can afterwards");
      assert.is(await integrityFault(to), null);
      assert.equal(await countsOf(to), [250, 250, written()]);
      client.close();
    }));

  test("while others write and empty the log without end, every copy is whole and of one moment", () =>
    withTempDir(async (dir) => {
      const from = join(dir, "a.db");
      const { client, write, checkpoint, written } = await openWritten(from);
      let isOver = false;
      const writing = (async () => {
        for (let round = 0; !isOver; round++) {
          await write(7);
          if (round % 3 === 0) await checkpoint();
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      // A piece a turn: the writer gets between any two of them.
      const slowly = () => new Promise<void>((resolve) => setTimeout(resolve, 1));
      for (let n = 0; n < 25; n++) {
        const to = join(dir, `copy-${n}.db`);
        const least = written();
        await copyDatabase(from, to, slowly);
        assert.is(await integrityFault(to), null, `copy ${n}`);
        const [rows, total, last = 0] = await countsOf(to);
        assert.is(rows, total, `copy ${n} is of two moments`);
        assert.ok(last >= least, `copy ${n} is as of ${last}, and ${least} had been written before`);
        await rm(to);
      }
      isOver = true;
      await writing;
      client.close();
    }));
});
