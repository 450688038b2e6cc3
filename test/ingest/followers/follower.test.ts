/** The loop of the journal's followers, on a real journal. */
import { join } from "node:path";
import { followJournal, type RecordConsumer } from "../../../ingest/followers/follower.js";
import { waitUntil } from "../../../store/lib/abortable.js";
import { nextTurn } from "../../../store/lib/scheduling.js";
import { keep, openTestJournal, textOf } from "../../store/journal/support.js";
import { assert, suite, until, withTempDir } from "../../suite.js";
import { openConsumerWorld } from "../consumers/support.js";

suite("a follower of the journal", (test) => {
  /** Follows behind `afterID` and notes what it takes; ends once it has caught up, unless `options` say otherwise. */
  function noting(options: Partial<RecordConsumer> = {}) {
    const taken: string[] = [];
    const consumer: RecordConsumer = {
      pass: () => true,
      enter: async () => true,
      take: (record, isAside) => {
        taken.push(isAside ? `(${textOf(record)})` : textOf(record));
        return undefined;
      },
      caughtUp: async () => false,
      ...options,
    };
    return { taken, consumer };
  }

  const { signal } = new AbortController();

  test("takes the records in order, skips dead letters, and resumes behind the last", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(join(dir, "journal"));
      const ids: number[] = [];
      for (const text of ["a", "b", "c"]) ids.push(await keep(journal, { payload: Buffer.from(text) }));
      const asked: number[] = [];
      const { taken, consumer } = noting({
        pass: (id) => id !== ids[1],
        enter: async ({ id }) => {
          asked.push(id);
          return false;
        },
      });
      await followJournal(await journal.read(0), consumer, signal);
      assert.equal([taken, asked], [["a", "(b)", "c"], [ids[1]]]);
      await keep(journal, { payload: Buffer.from("d") });
      await followJournal(await journal.read(ids[2] ?? 0), consumer, signal);
      assert.equal(taken, ["a", "(b)", "c", "d"]);
      await journal.close();
    }));

  test("ends in the middle of a batch where the consumer says so, and waits for more where it does not", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(join(dir, "journal"));
      for (const text of ["a", "b", "c"]) await keep(journal, { payload: Buffer.from(text) });
      const short = noting();
      const ending = Object.defineProperty(short.consumer, "isOver", { get: () => short.taken.length === 2 });
      await followJournal(await journal.read(0), ending, signal);
      assert.equal(short.taken, ["a", "b"]);

      const stop = new AbortController();
      const { taken, consumer } = noting({
        caughtUp: async (lastID) => {
          await waitUntil(stop.signal, (wake) => void journal.waitFor(lastID).then(wake));
          return true;
        },
      });
      const running = followJournal(await journal.read(0), consumer, stop.signal);
      await until(() => taken.length === 3, { what: "three records" });
      await keep(journal, { payload: Buffer.from("d") });
      await until(() => taken.length === 4, { what: "the fourth" });
      stop.abort();
      await running;
      await journal.close();
    }));

  test("an error is thrown, but not one after the request to stop", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(join(dir, "journal"));
      await keep(journal, { payload: Buffer.from("a") });
      const stop = new AbortController();
      const take = async () => {
        throw new Error("the record");
      };
      const failing = followJournal(await journal.read(0), noting({ take }).consumer, signal);
      assert.is(await failing.catch((error: Error) => error.message), "the record");
      const takeLate = async () => {
        stop.abort();
        return take();
      };
      await followJournal(await journal.read(0), noting({ take: takeLate }).consumer, stop.signal);
      await journal.close();
    }));

  test("one whose journal is closed before it ends by itself, and keeps nothing busy", async () => {
    const world = await openConsumerWorld();
    await world.send({ temp: 1 });
    const series = await world.series();
    await world.settled(series);
    await world.journal.close();
    assert.is(await world.journal.waitFor(world.journal.committedID), false);
    // A loop that asks the closed journal again and again would let no turn of the event loop come.
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    await series.close();
    assert.equal(world.values, [1]);
    await world.close();
  });
});
