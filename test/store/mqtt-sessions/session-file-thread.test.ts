/** One thread that writes the session files of several journals. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { createSessionFileThread } from "../../../store/mqtt-sessions/session-file-thread.js";
import type { RetainedRow, RowChanges } from "../../../store/mqtt-sessions/session-rows.js";
import { openSessionStore, type SessionStore } from "../../../store/mqtt-sessions/session-store.js";
import { assert, rejects, suite, withTempDir } from "../../suite.js";
import { nothing } from "./support.js";

/** Yields so many rows; `onTaken` is called before each. */
function* rows(count: number, onTaken: (n: number) => void = () => undefined): Generator<RetainedRow> {
  for (let n = 1; n <= count; n++) {
    onTaken(n);
    const of = { tenant: 1, device: n, deviceID: `d${n}` };
    yield { ...of, topic: "t", payload: Buffer.alloc(100), qos: 1, properties: null, at: n };
  }
}

const changes = (retained: Iterable<RetainedRow>): RowChanges => ({ ...nothing, retained });

interface Opened {
  readonly stores: readonly [SessionStore, SessionStore];
  readonly paths: readonly [string, string];
  readonly damages: string[];
  readonly started: readonly Worker[];
}

const withTwo = (work: (opened: Opened) => Promise<void>): Promise<void> =>
  withTempDir(async (dir) => {
    const started: Worker[] = [];
    const onWorker = (worker: Worker) => void started.push(worker);
    process.on("worker", onWorker);
    const thread = createSessionFileThread();
    const damages: string[] = [];
    const paths = [join(dir, "a.db"), join(dir, "b.db")] as const;
    const open = (path: string) => openSessionStore(path, (fault) => damages.push(fault), thread);
    const stores = [await open(paths[0]), await open(paths[1])] as const;
    try {
      await work({ stores, paths, damages, started });
    } finally {
      process.off("worker", onWorker);
      for (const store of stores) await store.close();
    }
  });

const countIn = async (store: SessionStore): Promise<number> => (await store.load()).retained.length;

suite("the thread of session files", (test) => {
  test("several files have one thread, which goes on when one is closed and ends with the last", () =>
    withTwo(async ({ stores: [a, b], started }) => {
      await Promise.all([a.save(changes(rows(3)), 1), b.save(changes(rows(4)), 2)]);
      await a.close();
      await b.save(changes(rows(5)), 3);
      assert.is(started.length, 1);
      let ended = false;
      started[0]?.once("exit", () => {
        ended = true;
      });
      await b.close();
      assert.ok(ended);
      assert.equal([await countIn(a), await countIn(b)], [3, 5]);
    }));

  test("a long save does not keep that of another file waiting until its end", () =>
    withTwo(async ({ stores: [a, b] }) => {
      let saved = false;
      const long = a.save(changes(rows(20_000)), 1).then(() => {
        saved = true;
      });
      await b.save(changes(rows(1)), 1);
      assert.not.ok(saved);
      await long;
      assert.equal([await countIn(a), await countIn(b)], [20_000, 1]);
    }));

  test("a file that is damaged is begun anew, during a save of the other one", () =>
    withTwo(async ({ stores: [a, b], paths, damages }) => {
      for (const store of [a, b]) await store.save(changes(rows(2)), 1);
      await a.close();
      await writeFile(paths[0], "no database at all");
      const saving = b.save(changes(rows(5000)), 2);
      const error = await rejects(() => a.save(changes(rows(1)), 2));
      assert.is((error as Error & { code?: string }).code, "CORRUPT");
      await a.remake("it is none");
      await a.save(changes(rows(1)), 3);
      await saving;
      assert.equal([await countIn(a), await countIn(b), damages], [1, 5000, ["it is none"]]);
    }));

  test("the thread dies under a save: both files are as they were, and the next saves have a new one", () =>
    withTwo(async ({ stores: [a, b], started }) => {
      for (const store of [a, b]) await store.save(changes(rows(2)), 1);
      const dying = rows(1000, (n) => void (n === 601 && started[0]?.terminate()));
      await rejects(() => a.save(changes(dying), 2), /thread has ended/);
      assert.is(await a.savedID(), 1);
      for (const store of [a, b]) await store.save(changes(rows(3)), 3);
      assert.is(started.length, 2);
      assert.equal([await countIn(a), await countIn(b)], [3, 3]);
    }));
});
