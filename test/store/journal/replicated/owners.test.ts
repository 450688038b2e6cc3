/** Owners that come and go, folders as a kill leaves them, logs that are not as they were left. */
import { cpSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { PartitionLog } from "../../../../store/journal/kafka/partition-log.js";
import { decodeLogFrame, encodeClaim } from "../../../../store/journal/replicated/log-frames.js";
import { assert, rejects, suite, until, withTempDir } from "../../../suite.js";
import { createMemoryLog, type Outcome } from "../memory-log.js";
import { journalInput, keep, readAll, textOf } from "../support.js";
import { openInLog } from "./support.js";

const small = { segmentBytesMax: 1 };
const contents = async (journal: Awaited<ReturnType<typeof openInLog>>): Promise<string[]> =>
  (await readAll(journal)).map((record) => `${record.id} ${textOf(record)}`);
const text = (payload: string) => ({ payload: Buffer.from(payload) });
const isSegment = (name: string): boolean => name.endsWith(".journal");

suite("owners of a log, and their folders", (test) => {
  test("a folder as a kill leaves it before its first mark is opened, and copied whole", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const first = await openInLog(join(dir, "a"), log.connect());
      await keep(first, text("x"));
      await first.close();
      const connection = log.connect();
      const [own, killed] = [join(dir, "b"), join(dir, "killed")];
      let isCopied = false;
      const watched: PartitionLog = {
        ...connection,
        async *read(from, to, signal) {
          for await (const one of connection.read(from, to, signal)) {
            yield one;
            // What has just been applied is there, and no mark of it.
            if (isCopied || !readdirSync(own).some(isSegment)) continue;
            isCopied = true;
            cpSync(own, killed, { recursive: true });
          }
        },
      };
      await (await openInLog(own, watched)).close();
      assert.ok(isCopied);
      const again = await openInLog(killed, log.connect());
      assert.equal(await contents(again), ["1 x"]);
      await again.close();
    }));

  test("a segment whose beginning stands twice outlives a drop before it, on a machine that knows the first", () =>
    withTempDir(async (dir) => {
      let fates: Outcome[] = [];
      const log = createMemoryLog(() => fates.shift() ?? "kept");
      const [a, b] = [join(dir, "a"), join(dir, "b")];
      const first = await openInLog(a, log.connect(), small);
      await keep(first, text("w"));
      fates = ["unanswered"];
      await keep(first, text("x"));
      await first.close();
      const second = await openInLog(b, log.connect(), small);
      await keep(second, text("y"));
      await second.close();
      const third = await openInLog(a, log.connect(), small);
      await third.drop(third.segments[0] as never);
      assert.equal(await contents(third), ["2 x", "3 y"]);
      await third.close();
      const fourth = await openInLog(b, log.connect(), small);
      assert.equal(await contents(fourth), ["2 x", "3 y"]);
      await fourth.close();
    }));

  test("an owner whose log has lost frames acknowledges nothing more, however often it tries", () =>
    withTempDir(async (dir) => {
      const ended: string[] = [];
      const log = createMemoryLog();
      const journal = await openInLog(dir, log.connect(), { onEnded: ({ message }) => ended.push(message) });
      for (let i = 0; i < 5; i++) await keep(journal);
      log.frames.splice(-3);
      let told = 0;
      journal.append(journalInput(), () => told++);
      await until(() => ended.length > 0, { what: "the end" });
      const { length } = log.frames;
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal([told, ended.length, log.frames.length], [0, 1, length]);
      assert.match(ended[0] ?? "", /it has lost frames/);
      await journal.close();
    }));

  test("a start on a log that has lost frames is refused each time, and appends nothing to it", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const journal = await openInLog(dir, log.connect());
      for (let i = 0; i < 5; i++) await keep(journal);
      await journal.close();
      log.frames.splice(3);
      for (let i = 0; i < 5; i++) {
        await rejects(() => openInLog(dir, log.connect()), /it has lost frames: it ends at offset 3/);
      }
      assert.is(log.frames.length, 3);
    }));

  test("frames that are missing in the midst are noticed by the next beginning", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const journal = await openInLog(join(dir, "a"), log.connect(), { segmentBytesMax: 500 });
      for (let i = 0; i < 8; i++) await keep(journal, { payload: Buffer.alloc(200) });
      await journal.close();
      const kinds = log.frames.map((frame) => decodeLogFrame(frame).kind);
      const second = kinds.indexOf("begin", kinds.indexOf("begin") + 1);
      assert.is(kinds[second - 1], "records");
      log.frames.splice(second - 1, 1);
      await rejects(() => openInLog(join(dir, "b"), log.connect()), /in what it names before it/);
    }));

  test("who is refused ends nobody's ownership, and the owner starts again as ever", () =>
    withTempDir(async (dir) => {
      const ended: string[] = [];
      const log = createMemoryLog();
      const own = join(dir, "a");
      const journal = await openInLog(own, log.connect(), { onEnded: ({ message }) => ended.push(message) });
      await keep(journal);
      const open = (more: object) => openInLog(join(dir, "b"), log.connect(), more);
      await rejects(() => open({ deployment: "another" }), /that of another deployment/);
      await rejects(() => open({ clock: () => Date.now() + 60_000 }), /the clocks are apart/);
      await keep(journal);
      // Even if its claim of an epoch that there is already came through.
      log.frames.push(encodeClaim(1, { deployment: "another", shard: 0, owner: "a stranger" }));
      await keep(journal);
      assert.equal(ended, []);
      await journal.close();
      const again = await openInLog(own, log.connect());
      assert.is(await keep(again), 4);
      await again.close();
    }));

  test("an owner that was away so long that the log has let its place go learns that it is none", () =>
    withTempDir(async (dir) => {
      const ended: string[] = [];
      const log = createMemoryLog();
      const former = await openInLog(join(dir, "a"), log.connect(), {
        ...small,
        onEnded: ({ message }) => ended.push(message),
      });
      await keep(former);
      const next = await openInLog(join(dir, "b"), log.connect(), small);
      for (let i = 0; i < 2; i++) await keep(next);
      while (next.segments.length > 1) await next.drop(next.segments[0] as never);
      let told = 0;
      former.append(journalInput(), () => told++);
      await until(() => ended.length > 0, { what: "the end" });
      assert.match(ended[0] ?? "", /taken over/);
      assert.is(told, 0);
      await former.close();
      await next.close();
    }));

  test("ids that begin above lost ones do so also if the log answers nothing at first", () =>
    withTempDir(async (dir) => {
      const fates: Outcome[] = ["kept", "unanswered"];
      const log = createMemoryLog(() => fates.shift() ?? "kept");
      const journal = await openInLog(dir, log.connect());
      assert.is(await journal.beginAbove(500), true);
      assert.is(await keep(journal), 2 ** 20);
      assert.is(journal.stopped, null);
      await journal.close();
    }));

  test("a stranger's message ends the owner with what it is, and every start until it is gone", () =>
    withTempDir(async (dir) => {
      const ended: string[] = [];
      const log = createMemoryLog();
      const journal = await openInLog(dir, log.connect(), { onEnded: ({ message }) => ended.push(message) });
      await keep(journal);
      log.frames.push(Buffer.from("hello"));
      let told = 0;
      journal.append(journalInput(), () => told++);
      await until(() => ended.length > 0, { what: "the end" });
      assert.match(ended[0] ?? "", /none of Tidemark's/);
      assert.is(told, 0);
      await journal.close();
      await rejects(() => openInLog(dir, log.connect()), /none of Tidemark's/);
    }));

  test("a segment that is dropped may be gone already", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const journal = await openInLog(dir, log.connect(), small);
      for (let i = 0; i < 3; i++) await keep(journal);
      const [oldest] = journal.segments;
      assert.ok(oldest);
      await rm(oldest.path);
      await journal.drop(oldest);
      assert.is(journal.segments.length, 2);
      await journal.close();
    }));
});
