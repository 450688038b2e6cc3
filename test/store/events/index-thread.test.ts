/** One thread that writes the event indexes of several journals. */
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { createClient } from "@libsql/client";
import { createIndexThread, type Indexer, type IndexThread } from "../../../store/events/event-indexer.js";
import { logs } from "../../../store/events/event-postings.js";
import { assert, suite, until, withTempDir } from "../../suite.js";
import { keep } from "../journal/support.js";
import { indexed, type OpenedLog, openLog } from "./support.js";

const query = { log: logs.events, tenant: 1, devices: null, page: 1, limit: 1000 } as const;

/** Fills some segments of a journal, the last of which stays open. */
async function fill({ journal }: OpenedLog, records: number): Promise<void> {
  for (let i = 0; i < records; i++) await keep(journal, { payload: Buffer.alloc(100, i) });
}

const idsOf = async ({ events }: OpenedLog): Promise<number[]> =>
  (await events.list(query)).items.map(({ id }) => id);

/** A request that needs nothing but the index file. */
const anyRequest = { kind: "forget", firstID: 1 } as const;

const indexerIn = (thread: IndexThread, dir: string): Indexer =>
  thread.indexer(join(dir, "events.db"), () => undefined);

/** The thread, each request to which is made by `work`. */
const around = (thread: IndexThread, work: (ask: () => Promise<void>) => Promise<void>): IndexThread => ({
  indexer: (path, onDamage) => {
    const { ask, close } = thread.indexer(path, onDamage);
    return { ask: (request) => work(() => ask(request)), close };
  },
});

/** Runs `work` with the threads that are started during it. */
async function withWorkers(work: (started: readonly Worker[]) => Promise<void>): Promise<void> {
  const started: Worker[] = [];
  const onWorker = (worker: Worker) => void started.push(worker);
  process.on("worker", onWorker);
  try {
    await work(started);
  } finally {
    process.off("worker", onWorker);
  }
}

suite("the thread of event indexes", (test) => {
  const openAll = async (dirs: readonly string[]): Promise<OpenedLog[]> => {
    const thread = createIndexThread();
    return Promise.all(dirs.map((dir, node) => openLog(dir, 1500, Date.now, node, thread)));
  };

  const withDirs = (work: (a: string, b: string) => Promise<void>) =>
    withTempDir((a) => withTempDir((b) => work(a, b)));

  test("several files have one thread, which goes on when one is closed and ends with the last", () =>
    withDirs((dirA, dirB) =>
      withWorkers(async (started) => {
        const [a, b] = (await openAll([dirA, dirB])) as [OpenedLog, OpenedLog];
        for (const one of [a, b]) await fill(one, 40);
        await a.close();
        await fill(b, 40);
        await until(() => indexed(dirB, b.journal.segments.length - 1), { what: "the index" });
        assert.is(started.length, 1);
        assert.is((await idsOf(b)).length, 80);
        let ended = false;
        started[0]?.once("exit", () => {
          ended = true;
        });
        await b.close();
        assert.ok(ended);
      }),
    ));

  test("a damaged file is made again, and the other one is as it was", () =>
    withDirs(async (dirA, dirB) => {
      const [a, b] = (await openAll([dirA, dirB])) as [OpenedLog, OpenedLog];
      for (const one of [a, b]) await fill(one, 40);
      await until(() => indexed(dirA, a.journal.segments.length - 1), { what: "the index" });
      const before = await idsOf(a);
      const file = createClient({ url: `file:${join(dirA, "events.db")}` });
      await file.execute("drop table posting");
      file.close();
      // The thread meets it at the next segment.
      await fill(a, 20);
      await until(() => a.damages.some(({ what }) => /made again/.test(what)), { what: "the damage" });
      await fill(b, 20);
      await until(() => indexed(dirB, b.journal.segments.length - 1), { what: "the other index" });
      await until(async () => (await idsOf(a).catch(() => [])).length === 60, { what: "the index" });
      assert.equal((await idsOf(a)).slice(20), before);
      assert.equal(b.damages, []);
      for (const one of [a, b]) await one.close();
    }));

  test("what one file asks at once waits for one another: the other file waits for one of them", () =>
    withDirs(async (dirA, dirB) => {
      const thread = createIndexThread();
      const [a, b] = [indexerIn(thread, dirA), indexerIn(thread, dirB)];
      const done: string[] = [];
      const ask = async (name: string, indexer: Indexer): Promise<void> => {
        await indexer.ask(anyRequest);
        done.push(name);
      };
      await Promise.all([ask("a", a), ask("a", a), ask("a", a), ask("b", b)]);
      assert.equal(done, ["a", "b", "a", "a"]);
      for (const one of [a, b]) await one.close();
    }));

  test("a file that is made again from many segments lets the other in after each of them", () =>
    withDirs(async (dirA, dirB) => {
      const thread = createIndexThread();
      const other = indexerIn(thread, dirB);
      const done: string[] = [];
      let isRemaking = false;
      let asked: Promise<void> | null = null;
      const askOther = async (): Promise<void> => {
        // Behind all that is asked for in the same breath.
        await null;
        await other.ask(anyRequest);
        done.push("other");
      };
      const watched = around(thread, async (ask) => {
        if (!isRemaking) return ask();
        const answer = ask();
        asked ??= askOther();
        await answer;
        done.push("segment");
      });
      const a = await openLog(dirA, 1500, Date.now, 0, watched);
      await fill(a, 100);
      const segments = a.journal.segments.length - 1;
      await until(() => indexed(dirA, segments), { what: "the index" });
      const before = await idsOf(a);
      isRemaking = true;
      await a.events.remake("a check found it");
      await asked;
      assert.equal(done, ["segment", "other", ...Array(segments - 1).fill("segment")]);
      assert.equal(await idsOf(a), before);
      await a.close();
      await other.close();
    }));

  test("the thread dies: what it was at fails, and the next segment of either file has a new one", () =>
    withDirs((dirA, dirB) =>
      withWorkers(async (started) => {
        const [a, b] = (await openAll([dirA, dirB])) as [OpenedLog, OpenedLog];
        for (const one of [a, b]) await fill(one, 20);
        await until(() => indexed(dirA, a.journal.segments.length - 1), { what: "the index" });
        await until(() => indexed(dirB, b.journal.segments.length - 1), { what: "the index" });
        await started[0]?.terminate();
        for (const one of [a, b]) await fill(one, 20);
        await until(() => indexed(dirA, a.journal.segments.length - 1), { what: "the index" });
        await until(() => indexed(dirB, b.journal.segments.length - 1), { what: "the index" });
        assert.is(started.length, 2);
        for (const one of [a, b]) assert.is((await idsOf(one)).length, 40);
        for (const one of [a, b]) await one.close();
      }),
    ));
});
