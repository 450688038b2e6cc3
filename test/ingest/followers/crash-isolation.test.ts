/** The record that crashes starts is found whatever else happens, and only such a record becomes a dead letter. */
import { writeFile } from "node:fs/promises";
import fc from "fast-check";
import {
  type CrashIsolation,
  createCrashIsolation,
  type IsolationPace,
} from "../../../ingest/followers/crash-isolation.js";
import type { JournalRecord } from "../../../store/journal/record.js";
import { noWork, openWorkMark, type Work, type WorkMark } from "../../../store/journal/work-mark.js";
import { assert, suite, withTempDir } from "../../suite.js";

/** One deployment: what is on disk, over its starts. */
interface Disk {
  readonly end: number;
  checkpoint: number;
  mark: Work;
  readonly aside: Set<number>;
  readonly tried: number[];
}

class Ended extends Error {}

/** How marks are kept: notes on the own disk are there at once, those that go with a shard come later, and are rarer. */
interface Keeping {
  readonly pace: IsolationPace;
  readonly isLate: boolean;
}

const inFolder: Keeping = {
  pace: { notesMax: Number.POSITIVE_INFINITY, aloneAtOnceMax: 0, endsMax: 2 },
  isLate: false,
};
const withShard: Keeping = { pace: { notesMax: 32, aloneAtOnceMax: 16, endsMax: 1 }, isLate: true };

/**
 * A start: works the journal off, settling some of it now and then, until it is through or ends. `ends` says at which
 * records it ends as they are worked on, `killedAt` how many steps it has.
 */
async function start(
  disk: Disk,
  ends: (id: number) => boolean,
  killedAt: number,
  settleEvery: number,
  { pace, isLate }: Keeping = inFolder,
) {
  let isOver = false;
  const write = (work: Work): void => {
    if (!isOver) disk.mark = work;
  };
  const mark: WorkMark = {
    before: disk.mark,
    write: (work) => {
      if (isLate) return new Promise((resolve) => setImmediate(resolve)).then(() => write(work));
      write(work);
      return undefined;
    },
    close: () => undefined,
  };
  const isNoted = (id: number): boolean => {
    const { work } = disk.mark;
    return work !== null && id > work.after && id <= work.through;
  };
  let steps = 0;
  const step = (): void => {
    if (++steps > killedAt) throw new Ended();
  };
  let settled = disk.checkpoint;
  const narrowing: CrashIsolation = createCrashIsolation({
    mark,
    pace,
    from: disk.checkpoint,
    end: disk.end,
    ...unheld,
    isAside: (id) => disk.aside.has(id),
    tryAlone: async ({ id }) => {
      step();
      disk.tried.push(id);
      if (!ends(id)) return true;
      disk.aside.add(id);
      return false;
    },
  });
  const settle = (id: number): void => {
    step();
    settled = id;
    disk.checkpoint = id;
    narrowing.settled(id);
  };
  try {
    for (let id = disk.checkpoint + 1; id <= disk.end; id++) {
      step();
      const isFree =
        narrowing.pass(id, settled) ||
        (await narrowing.enter({ id } as JournalRecord, async () => {
          if (settled < id - 1) settle(id - 1);
        }));
      assert.ok(!isFree || isNoted(id), `${id} is worked on and not noted`);
      if (isFree && ends(id)) throw new Ended();
      if (id % settleEvery === 0) settle(id);
    }
    settle(disk.end);
    await narrowing.close();
    return true;
  } catch (error) {
    if (error instanceof Ended) return false;
    throw error;
  } finally {
    isOver = true;
  }
}

const newDisk = (end: number): Disk => ({ end, checkpoint: 0, mark: noWork, aside: new Set(), tried: [] });
const unheld = { isHeld: () => false, turn: () => Promise.resolve(), onWide: () => undefined };
const never = Number.POSITIVE_INFINITY;

suite("crash isolation", (test) => {
  test("a record that crashes every start becomes a dead letter after four of them, and nothing else does", async () => {
    for (const [end, settleEvery] of [
      [1, 1],
      [300, 1000],
      [300, 7],
    ] as const) {
      for (const poison of [1, Math.ceil(end / 2), end]) {
        const disk = newDisk(end);
        let starts = 1;
        while (!(await start(disk, (id) => id === poison, never, settleEvery))) starts++;
        assert.equal([...disk.aside], [poison]);
        assert.ok(starts <= 4, `${starts} starts`);
        assert.equal(disk.mark, noWork, "nothing is in work");
      }
    }
  });

  test("with the marks of a shard that moves, one of a few records becomes a dead letter after two of them, of more after three", async () => {
    for (const [end, endsMax] of [
      [1, 2],
      [16, 2],
      [17, 3],
      [1024, 3],
    ] as const) {
      for (const poison of [1, Math.ceil(end / 2), end]) {
        const disk = newDisk(end);
        // The first is that of the node that had taken the record, and noted nothing.
        let ended = 1;
        while (!(await start(disk, (id) => id === poison, never, 1000, withShard))) ended++;
        assert.equal([...disk.aside], [poison]);
        assert.is(ended, endsMax, `${poison} of ${end}`);
        assert.equal(disk.mark, noWork, "nothing is in work");
      }
    }
  });

  test("a large backlog is tried in groups first", async () => {
    const disk = newDisk(60_000);
    let starts = 1;
    while (!(await start(disk, (id) => id === 43_210, never, 50_000))) starts++;
    assert.equal([...disk.aside], [43_210]);
    assert.ok(starts <= 5, `${starts} starts`);
  });

  test("it ends, whatever crashes in between: exactly the harmful records become dead letters", () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3000 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 3000 }), { maxLength: 3 }),
        fc.array(fc.integer({ min: 0, max: 4000 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 2000 }),
        fc.constantFrom(inFolder, withShard),
        async (end, harmful, kills, settleEvery, keeping) => {
          const disk = newDisk(end);
          const poisons = new Set(harmful.filter((id) => id <= end));
          const ends = (id: number) => poisons.has(id);
          for (const killedAt of kills) await start(disk, ends, killedAt, settleEvery, keeping);
          let starts = 1;
          while (!(await start(disk, ends, never, settleEvery, keeping))) {
            starts++;
            assert.ok(starts <= 6 * (poisons.size + 1), "it goes on for ever");
          }
          assert.equal(
            [...disk.aside].sort((a, b) => a - b),
            [...poisons].sort((a, b) => a - b),
          );
          assert.is(disk.checkpoint, end);
        },
      ),
      { numRuns: 300 },
    ));

  test("kills from outside, always at the same place, make no dead letters: the tried records are acquitted", async () => {
    for (const keeping of [inFolder, withShard]) {
      const disk = newDisk(20);
      for (let i = 0; i < 50; i++) await start(disk, () => false, 15, 1000, keeping);
      assert.is(disk.aside.size, 0);
      assert.ok(await start(disk, () => false, never, 1000, keeping));
      assert.is(disk.aside.size, 0);
    }
  });

  test("an orderly end says nothing of what was in work", async () => {
    let mark: Work = noWork;
    const open = () =>
      createCrashIsolation({
        from: 0,
        end: 10,
        ...unheld,
        pace: inFolder.pace,
        isAside: () => false,
        tryAlone: async () => true,
        mark: {
          before: mark,
          write: (work) => {
            mark = work;
            return undefined;
          },
          close: () => undefined,
        },
      });
    for (let i = 0; i < 5; i++) {
      const narrowing = open();
      assert.ok(narrowing.pass(1, 0), "nothing is suspected");
      await narrowing.close();
      assert.equal(mark, noWork);
    }
  });

  test("a start without a mark notes once for hundreds of records, and nothing after what it has found", async () => {
    for (const [{ pace, isLate }, end, notesMax] of [
      [inFolder, 5000, 12],
      // However much there is.
      [withShard, 5000, 12],
      [withShard, 100_000, 34],
      [withShard, 0, 0],
    ] as const) {
      let notes = 0;
      const narrowing = createCrashIsolation({
        from: 0,
        end,
        ...unheld,
        pace,
        isAside: () => false,
        tryAlone: async () => true,
        mark: {
          before: noWork,
          write: ({ work, suspect }) => {
            if (work !== null || suspect !== null) notes++;
            return isLate ? Promise.resolve() : undefined;
          },
          close: () => undefined,
        },
      });
      for (let id = 1; id <= end; id++) {
        const isFree =
          narrowing.pass(id, id - 1) ||
          (await narrowing.enter({ id } as JournalRecord, async () => undefined));
        assert.ok(isFree);
      }
      assert.ok(notes <= notesMax, `${notes} notes for ${end}`);
      narrowing.settled(end);
      const before = notes;
      for (let id = end + 1; id <= end + 4000; id++) assert.ok(narrowing.pass(id, id - 1));
      narrowing.settled(end + 4000);
      assert.is(notes, before);
    }
  });

  test("the mark outlives the process; what is none says nothing", async () => {
    await withTempDir(async (dir) => {
      const path = `${dir}/work/series.json`;
      const work: Work = { work: { after: 1, through: 2 }, suspect: { after: 1, through: 2, ends: 1 } };
      const first = openWorkMark(path);
      assert.equal(first.before, noWork);
      await first.write({
        work: { after: 2 ** 52, through: 2 ** 52 + 512 },
        suspect: { after: 0, through: 2 ** 52, ends: 3 },
      });
      await first.write(work);
      first.close();
      const second = openWorkMark(path);
      assert.equal(second.before, work);
      second.close();
      for (const text of [
        "",
        "{",
        "null",
        "7",
        '{"work":{"after":5,"through":1},"suspect":{"after":0,"through":9}}',
      ]) {
        await writeFile(path, text);
        const third = openWorkMark(path);
        assert.equal(third.before, noWork, text);
        third.close();
      }
    });
  });
});
