/** What a journal promises wherever its segments are kept. */
import fc from "fast-check";
import type { Journal, JournalOptions } from "../../../store/journal/journal.js";
import { recordBytesLimit } from "../../../store/journal/scan.js";
import { idsPerShard } from "../../../store/journal/shard-ids.js";
import { assert, rejects, type suite, withTempDir } from "../../suite.js";
import { journalInput, keep, readAll, readMessages, textOf } from "./support.js";

type Test = Parameters<Parameters<typeof suite>[1]>[0];
/** Opens the journal of a folder, as often as it is closed. */
type OpenJournal = (dir: string, options?: Partial<JournalOptions>) => Promise<Journal>;

const payloadsOf = async (journal: Journal): Promise<string[]> => (await readAll(journal)).map(textOf);
const letters = (count: number): string[] => Array.from({ length: count }, (_, i) => `message ${i}`);

/** @param numRuns of the property that opens many journals */
export function journalContract(test: Test, openTestJournal: OpenJournal, numRuns = 40): void {
  test("a record that a commit listener appends while it closes is on disk or acknowledged to nobody", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(dir);
      const kept: number[] = [];
      const again = (left: number): void => {
        // As waiting work does it, in a turn of its own promises.
        if (left > 0) void Promise.resolve().then(() => journal.append(journalInput(), told(left - 1)));
      };
      const told = (left: number) => (id: number) => {
        kept.push(id);
        again(left);
      };
      journal.append(journalInput(), told(5));
      await journal.close();
      assert.is(kept.length, 6);
      journal.append(journalInput(), () => assert.unreachable("it is closed"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      const reopened = await openTestJournal(dir);
      assert.equal(
        (await readAll(reopened)).map(({ id }) => id),
        kept,
      );
      await reopened.close();
    }));

  test("a listener that throws at its own record costs nobody else; the journal goes on", () =>
    withTempDir(async (dir) => {
      const faults: string[] = [];
      const journal = await openTestJournal(dir, { onFault: (error) => faults.push(error.message) });
      const told: number[] = [];
      for (let i = 0; i < 5; i++) {
        journal.append(journalInput(), (id) => {
          if (i === 2) throw new RangeError("cannot be encoded");
          told.push(id);
        });
      }
      told.push(await keep(journal));
      assert.equal([told, faults], [[1, 2, 4, 5, 6], ["cannot act on record 3: cannot be encoded"]]);
      assert.is(await keep(journal), 7);
      assert.is((await readAll(journal)).length, 7);
      await journal.close();
    }));

  test("hands out what was appended, in order, from any id, through reopens and small segments", async () => {
    const runs = fc.array(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 30 }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(runs, fc.integer({ min: 100, max: 3000 }), fc.nat({ max: 120 }), (all, bytes, from) =>
        withTempDir(async (dir) => {
          const model: { id: number; payload: number[] }[] = [];
          for (const run of all) {
            const journal = await openTestJournal(dir, { segmentBytesMax: bytes });
            const done: number[] = [];
            const ids = run.map((payload) =>
              journal.append(journalInput({ payload }), (id) => done.push(id)),
            );
            model.push(...ids.map((id, i) => ({ id, payload: [...(run[i] as Uint8Array)] })));
            if (ids.length > 0) await journal.waitFor((ids.at(-1) as number) - 1);
            assert.equal(done, ids, "acknowledged in order, once");
            const found = (await readMessages(journal, from)).map(({ id, payload }) => ({
              id,
              payload: [...payload],
            }));
            assert.equal(
              found,
              model.filter(({ id }) => id > from),
            );
            await journal.close();
          }
          assert.equal(
            model.map(({ id }) => id),
            model.map((_, i) => i + 1),
          );
        }),
      ),
      { numRuns, endOnFailure: true },
    );
  });

  test("begins a new segment by size and by age; each is named by its first id", async () => {
    await withTempDir(async (dir) => {
      let now = Date.UTC(2024, 0, 1);
      const closed: number[] = [];
      const journal = await openTestJournal(dir, {
        now: () => now,
        segmentBytesMax: 1000,
        segmentAgeMaxMs: 60_000,
        onSegmentClosed: (segment) => closed.push(segment.firstID),
      });
      for (let i = 0; i < 12; i++) await keep(journal, { payload: Buffer.alloc(300) });
      const bySize = journal.segments.length;
      assert.ok(bySize >= 4 && bySize <= 12, `${bySize} segments`);
      now += 60_001;
      await keep(journal);
      assert.is(journal.segments.length, bySize + 1);
      assert.is(journal.segments.at(-1)?.firstID, 13);
      assert.equal(
        closed,
        journal.segments.slice(0, -1).map(({ firstID }) => firstID),
      );
      assert.equal(
        (await readAll(journal)).map(({ id }) => id),
        Array.from({ length: 13 }, (_, i) => i + 1),
      );
      await journal.close();
    });
  });

  test("two messages of one millisecond have two stamps, and one receipt", async () => {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(dir, { now: () => 1_700_000_000_000 });
      await Promise.all(letters(50).map(() => keep(journal)));
      const records = await readAll(journal);
      assert.is(new Set(records.map(({ stamp }) => stamp)).size, 50);
      assert.equal([...new Set(records.map(({ receivedAt }) => receivedAt))], [1_700_000_000_000_000]);
      await journal.close();
    });
  });

  test("nodes never give the same id", async () => {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(dir, { shard: 999 });
      const id = await keep(journal);
      assert.is(id, 999 * idsPerShard + 1);
      assert.ok(Number.isSafeInteger(1000 * idsPerShard));
      await journal.close();
    });
  });

  test("drops segments from the front, never the newest, and readers go on after them", async () => {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(dir, { segmentBytesMax: 1 });
      for (const payload of letters(4)) await keep(journal, { payload: Buffer.from(payload) });
      const [first, second] = journal.segments;
      if (first === undefined || second === undefined) throw new Error("too few segments");
      const dropped = journal.drop(first);
      assert.not.ok(journal.segments.includes(first), "before its file is gone");
      await dropped;
      await journal.drop(second);
      await rejects(() => journal.drop(second), /it is gone/);
      assert.equal(await payloadsOf(journal), letters(4).slice(2));
      const newest = journal.segments.at(-1);
      if (newest !== undefined) await rejects(() => journal.drop(newest), /newest/);
      await journal.close();
      const again = await openTestJournal(dir);
      assert.is(await keep(again), 5);
      await again.close();
    });
  });

  test("refuses a record beyond the bound before it takes an id", async () => {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(dir);
      assert.throws(
        () => journal.append(journalInput({ payload: Buffer.alloc(recordBytesLimit) })),
        /larger/,
      );
      assert.is(await keep(journal), 1);
      await journal.close();
    });
  });
}
