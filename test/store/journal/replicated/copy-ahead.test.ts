/** A log that is copied while another process has it. */
import { join } from "node:path";
import type { PartitionLog } from "../../../../store/journal/kafka/partition-log.js";
import { copiedOnly, copyAhead } from "../../../../store/journal/replicated/copy-ahead.js";
import { readCopyMark } from "../../../../store/journal/replicated/copy-mark.js";
import { assert, rejects, suite, until, withTempDir } from "../../../suite.js";
import { createMemoryLog, type MemoryLog } from "../memory-log.js";
import { journalInput, keep, openTestJournal, readAll, textOf } from "../support.js";
import { openInLog } from "./support.js";

const name = { topicID: "topic", partition: 0 };
const text = (payload: string) => ({ payload: Buffer.from(payload) });
const contents = async (journal: Parameters<typeof readAll>[0]): Promise<string[]> =>
  (await readAll(journal)).map((record) => `${record.id} ${textOf(record)}`);
const unexpected = (error: Error): never => {
  throw error;
};

interface Connected {
  readonly connection: PartitionLog;
  /** Offsets that were read. */
  readonly read: number[];
}

/** Records what is read; `onRead` is called after each frame. */
function connected(log: MemoryLog, onRead: (offset: number) => unknown = () => undefined): Connected {
  const connection = log.connect();
  const read: number[] = [];
  return {
    read,
    connection: {
      ...connection,
      async *read(from, until, signal) {
        for await (const one of connection.read(from, until, signal)) {
          read.push(one.offset);
          yield one;
          await onRead(one.offset);
        }
      },
    },
  };
}

function copy(dir: string, log: PartitionLog, signal = new AbortController().signal): Promise<void> {
  const claimant = { deployment: "tests", shard: 0 };
  return copyAhead({ dir, log, name, claimant, onTrouble: unexpected, signal, shortTimeMs: 200 });
}

suite("a log that is copied ahead", (test) => {
  test("its owner goes on, and the node that takes it then reads only what has come since", () =>
    withTempDir(async (dir) => {
      const ended: Error[] = [];
      const log = createMemoryLog();
      const first = await openInLog(join(dir, "a"), log.connect(), { onEnded: (error) => ended.push(error) });
      for (const one of ["u", "v", "w"]) await keep(first, text(one));
      await copy(join(dir, "b"), log.connect());
      const copiedTo = log.frames.length;
      await keep(first, text("x"));
      assert.equal(ended, []);
      await first.close();
      const { connection, read } = connected(log);
      const second = await openInLog(join(dir, "b"), connection);
      assert.equal(await contents(second), ["1 u", "2 v", "3 w", "4 x"]);
      // The last one that it has is looked at, whether the log still has it.
      assert.is(Math.min(...read), copiedTo - 1);
      await second.close();
    }));

  test("what comes while it is copied is copied too, until little is left", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const first = await openInLog(join(dir, "a"), log.connect());
      for (let i = 0; i < 60; i++) await keep(first);
      let more = 60;
      const { connection } = connected(log, async () => (more-- > 0 ? keep(first) : undefined));
      await copy(join(dir, "b"), connection);
      const mark = await readCopyMark(join(dir, "b"), name, unexpected);
      assert.is(mark?.offset, log.frames.length);
      await first.close();
    }));

  test("one that is ended early keeps what it has, and leaves a folder that can be opened", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const first = await openInLog(join(dir, "a"), log.connect());
      for (const one of ["v", "w", "x"]) await keep(first, text(one));
      await first.close();
      const stop = new AbortController();
      const half = log.frames.length - 2;
      const cut = connected(log, (offset) => (offset === half ? stop.abort() : undefined));
      const closing: PartitionLog = {
        ...cut.connection,
        async *read(from, until) {
          for await (const one of cut.connection.read(from, until)) {
            if (stop.signal.aborted) throw new Error("the log is closed");
            yield one;
          }
        },
      };
      await rejects(() => copy(join(dir, "b"), closing, stop.signal), /the log is closed/);
      const { connection, read } = connected(log);
      const second = await openInLog(join(dir, "b"), connection);
      assert.equal(await contents(second), ["1 v", "2 w", "3 x"]);
      assert.is(Math.min(...read), half);
      await second.close();
    }));

  test("the log of another deployment is refused", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const other = await openInLog(join(dir, "a"), log.connect(), { deployment: "another" });
      await keep(other);
      await rejects(() => copy(join(dir, "b"), log.connect()), /that of another deployment/);
      await other.close();
    }));

  test("a journal over the copy is read, and nothing is written to it", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const first = await openInLog(join(dir, "a"), log.connect());
      await keep(first, text("x"));
      await copy(join(dir, "b"), log.connect());
      const copied = await openTestJournal(join(dir, "b"), { keeping: copiedOnly });
      assert.equal(await contents(copied), ["1 x"]);
      let told = 0;
      copied.append(journalInput(), () => told++);
      await until(() => copied.stopped !== null, { what: "the reason" });
      assert.match(copied.stopped ?? "", /another process has it/);
      await copied.close();
      assert.is(told, 0);
      const { length } = log.frames;
      await first.close();
      assert.is(log.frames.length, length);
    }));
});
