/** One thread that writes the event indexes of several journals. */
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { createClient } from "@libsql/client";
import { createIndexThread } from "../../../store/events/event-indexer.js";
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

/** The threads that are started meanwhile. */
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

  test("a file that is made again from many segments does not keep the other waiting until its end", () =>
    withDirs(async (dirA, dirB) => {
      const [a, b] = (await openAll([dirA, dirB])) as [OpenedLog, OpenedLog];
      await fill(a, 400);
      const segments = a.journal.segments.length - 1;
      await until(() => indexed(dirA, segments), { what: "the index" });
      let made = false;
      const making = a.events.remake("a check found it").then(() => {
        made = true;
      });
      await until(() => a.damages.length > 0, { what: "its begin" });
      await fill(b, 20);
      await until(() => indexed(dirB, 1), { what: "the other index" });
      assert.not.ok(made, `${segments} segments were indexed first`);
      await making;
      for (const one of [a, b]) await one.close();
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
