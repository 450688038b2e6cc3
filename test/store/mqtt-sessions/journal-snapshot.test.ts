/** The sessions' file in the journal, in many parts among other records. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Journal } from "../../../store/journal/journal.js";
import { appendSnapshot, isCutOff, restoreSnapshot } from "../../../store/mqtt-sessions/journal-snapshot.js";
import type { RetainedRow } from "../../../store/mqtt-sessions/session-rows.js";
import { openSessionStore, type SessionStore } from "../../../store/mqtt-sessions/session-store.js";
import { assert, rejects, suite, withTempDir } from "../../suite.js";
import { keep, openTestJournal } from "../journal/support.js";
import { nothing } from "./support.js";

const kibi = 1024;
const never = new AbortController().signal;

/** As many retained messages of 10 KiB that say `mark`. */
function* rows(count: number, mark: number): Generator<RetainedRow> {
  for (let n = 1; n <= count; n++) {
    const of = { tenant: 1, device: n, deviceID: `d${n}` };
    yield { ...of, topic: "t", payload: Buffer.alloc(10 * kibi, mark), qos: 1, properties: null, at: n };
  }
}

const fill = (store: SessionStore, mark: number, journalID: number): Promise<void> =>
  store.save({ ...nothing, retained: rows(100, mark) }, journalID);

/** What the payloads of the store say, and the journal id that it stands for. */
async function contentsOf(store: SessionStore): Promise<[marks: number[], savedID: number]> {
  const { retained } = await store.load();
  assert.is(retained.length, 100);
  const marks = retained.flatMap(({ payload }) => [...new Uint8Array(payload)]);
  return [[...new Set(marks)], await store.savedID()];
}

interface Given {
  readonly journal: Journal;
  readonly store: SessionStore;
  /** The store of another machine. */
  readonly other: SessionStore;
  readonly scratch: string;
}

/** A journal each of whose commits has a segment of its own. */
const withStores = (work: (given: Given) => Promise<void>): Promise<void> =>
  withTempDir(async (dir) => {
    const journal = await openTestJournal(join(dir, "journal"), { segmentBytesMax: 1 });
    const store = await openSessionStore(join(dir, "a.db"), assert.unreachable);
    const other = await openSessionStore(join(dir, "b.db"), assert.unreachable);
    try {
      await work({ journal, store, other, scratch: join(dir, "scratch") });
    } finally {
      await journal.close();
      await store.close();
      await other.close();
    }
  });

suite("the sessions' file in the journal", (test) => {
  test("is the same again from many parts, in many segments and among other records", () =>
    withStores(async ({ journal, store, other, scratch }) => {
      const saved = await keep(journal);
      await fill(store, 1, saved);
      let isOver = false;
      const between = (async () => {
        while (!isOver) await keep(journal);
      })();
      const { savedID, bytes } = await appendSnapshot(store, journal, scratch, never);
      isOver = true;
      await between;
      assert.is(savedID, saved);
      assert.ok(bytes > 1000 * kibi, `${bytes}`);
      assert.ok(journal.segments.length > 8, `${journal.segments.length}`);
      assert.is(await restoreSnapshot(other, journal, scratch), true);
      assert.equal(await contentsOf(other), [[1], saved]);
      // It can be written on.
      await fill(other, 2, saved + 1);
      assert.equal(await contentsOf(other), [[2], saved + 1]);
      assert.equal(await contentsOf(store), [[1], saved]);
    }));

  test("the newest whole one counts, also after one that was cut short", () =>
    withStores(async ({ journal, store, other, scratch }) => {
      for (const mark of [1, 2]) {
        await fill(store, mark, await keep(journal));
        await appendSnapshot(store, journal, scratch, never);
      }
      const second = await store.savedID();
      await fill(store, 3, await keep(journal));
      let parts = 0;
      const stopping: Parameters<typeof appendSnapshot>[1] = {
        append: (input) => {
          parts++;
          return journal.append(input);
        },
        get committedID() {
          return journal.committedID;
        },
        get stopped() {
          return parts < 4 ? null : "the disk is full";
        },
        waitFor: (id) => journal.waitFor(id),
      };
      const failure = await rejects(() => appendSnapshot(store, stopping, scratch, never));
      assert.is(failure.message, "the journal takes nothing: the disk is full");
      await keep(journal);
      assert.is(parts, 4);
      assert.is(await restoreSnapshot(other, journal, scratch), true);
      assert.equal(await contentsOf(other), [[2], second]);
    }));

  test("one that is older than the file is none", () =>
    withStores(async ({ journal, store, other, scratch }) => {
      await fill(store, 1, await keep(journal));
      await appendSnapshot(store, journal, scratch, never);
      await fill(other, 2, await store.savedID());
      assert.is(await restoreSnapshot(other, journal, scratch), false);
      assert.equal(await contentsOf(other), [[2], await store.savedID()]);
    }));

  test("is given up between two parts once nobody waits for it any more, and its copy is removed", () =>
    withStores(async ({ journal, store, scratch }) => {
      await fill(store, 1, await keep(journal));
      const end = new AbortController();
      let parts = 0;
      const ending: Parameters<typeof appendSnapshot>[1] = {
        ...journal,
        append: (input) => {
          parts++;
          if (parts === 3) end.abort();
          return journal.append(input);
        },
        get committedID() {
          return journal.committedID;
        },
        get stopped() {
          return journal.stopped;
        },
      };
      const failure = await rejects(() => appendSnapshot(store, ending, scratch, end.signal));
      assert.is(failure.message, "the snapshot of the sessions is given up");
      assert.equal([parts, existsSync(scratch)], [3, false]);
    }));

  test("there is none in a journal without one, and the file stays as it is", () =>
    withStores(async ({ journal, other, scratch }) => {
      await keep(journal);
      await fill(other, 4, 1);
      assert.is(await restoreSnapshot(other, journal, scratch), false);
      assert.equal(await contentsOf(other), [[4], 1]);
    }));

  test("is needed once the journal begins after what is saved", () =>
    withStores(async ({ journal }) => {
      for (let n = 0; n < 4; n++) await keep(journal);
      assert.is(isCutOff(journal, 0), false);
      for (let n = 0; n < 2; n++) await journal.drop(journal.segments[0] as never);
      assert.is(isCutOff(journal, 2), false);
      assert.is(isCutOff(journal, 1), true);
    }));
});
