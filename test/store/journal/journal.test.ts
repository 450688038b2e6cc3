import { copyFile, mkdir, open, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import fc from "fast-check";
import { recordSize } from "../../../store/journal/frame.js";
import type { Journal } from "../../../store/journal/journal.js";
import { recordBytesLimit } from "../../../store/journal/scan.js";
import { segmentHeadBytes } from "../../../store/journal/segment.js";
import { idsPerShard } from "../../../store/journal/shard-ids.js";
import { assert, rejects, suite, withTempDir } from "../../suite.js";
import { journalInput, keep, openTestJournal, readAll, readMessages, textOf } from "./support.js";

/** Appends these payloads, one commit, and closes. */
async function written(dir: string, payloads: readonly string[]): Promise<void> {
  const journal = await openTestJournal(dir);
  await Promise.all(payloads.map((payload) => keep(journal, { payload: Buffer.from(payload) })));
  await journal.close();
}

async function onlySegment(dir: string): Promise<string> {
  const names = (await readdir(dir)).filter((name) => name.endsWith(".journal"));
  assert.is(names.length, 1);
  return join(dir, names[0] as string);
}

/** Offsets of the records of a file that is whole. */
async function offsetsOf(path: string): Promise<number[]> {
  const bytes = await readFile(path);
  const offsets: number[] = [];
  for (let at = segmentHeadBytes; at < bytes.length; at += recordSize(bytes, at, bytes.length))
    offsets.push(at);
  return offsets;
}

async function flipByte(path: string, at: number): Promise<void> {
  const file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte[0] = (byte[0] as number) ^ 0x40;
  await file.write(byte, 0, 1, at);
  await file.close();
}

const payloadsOf = async (journal: Journal): Promise<string[]> => (await readAll(journal)).map(textOf);
const letters = (count: number): string[] => Array.from({ length: count }, (_, i) => `message ${i}`);

suite("journal", (test) => {
  test("what is appended while it closes, by whoever is told of a commit, is on disk or acknowledged to nobody", () =>
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

  test("what throws when it is told of its record costs nobody else; the journal goes on", () =>
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
      { numRuns: 40, endOnFailure: true },
    );
  });

  test("cut at any byte of the last record, loses that one alone and invents none", async () => {
    await withTempDir(async (dir) => {
      const whole = join(dir, "whole");
      await written(whole, letters(3));
      const path = await onlySegment(whole);
      const last = (await offsetsOf(path)).at(-1) as number;
      const bytes = await readFile(path);
      for (let cut = last; cut <= bytes.length; cut++) {
        const copy = join(dir, `cut-${cut}`);
        await mkdir(copy);
        await copyFile(path, join(copy, basename(path)));
        await truncate(join(copy, basename(path)), cut);
        const journal = await openTestJournal(copy);
        const kept = cut === bytes.length ? 3 : 2;
        assert.equal(await payloadsOf(journal), letters(kept), `cut at ${cut}`);
        assert.is(await keep(journal, { payload: Buffer.from("next") }), kept + 1);
        assert.equal(await payloadsOf(journal), [...letters(kept), "next"]);
        await journal.close();
      }
    });
  });

  test("a tail of garbage after the last record is cut and kept aside", async () => {
    for (const tail of [Buffer.alloc(5000), Buffer.alloc(5000, 0xff), Buffer.from("x".repeat(77))]) {
      await withTempDir(async (dir) => {
        await written(dir, letters(4));
        const path = await onlySegment(dir);
        await writeFile(path, tail, { flag: "a" });
        const troubles: string[] = [];
        const journal = await openTestJournal(dir, { onTrouble: (error) => troubles.push(error.message) });
        assert.equal(await payloadsOf(journal), letters(4));
        assert.match(troubles.join(), `cut ${tail.length} bytes`);
        const end = (await readFile(path)).length;
        assert.equal(await readFile(`${path}.cut-${end}`), tail);
        await journal.close();
      });
    }
  });

  test("a flipped byte of one record costs that record and no other", async () => {
    await withTempDir(async (dir) => {
      const whole = join(dir, "whole");
      await written(whole, letters(5));
      const path = await onlySegment(whole);
      const offsets = await offsetsOf(path);
      const [from, to] = [offsets[2] as number, offsets[3] as number];
      const rest = letters(5).filter((_, i) => i !== 2);
      // Before the newest segment (a second one follows), and in the newest itself.
      for (const closed of [true, false]) {
        for (let at = from + 4; at < to; at++) {
          const copy = join(dir, `${closed}-${at}`);
          await mkdir(copy);
          const damaged = join(copy, basename(path));
          await copyFile(path, damaged);
          if (closed) {
            const journal = await openTestJournal(copy, { segmentBytesMax: 100 });
            await keep(journal, { payload: Buffer.from("later") });
            await journal.close();
          }
          await flipByte(damaged, at);
          const journal = await openTestJournal(copy);
          assert.equal(
            await payloadsOf(journal),
            closed ? [...rest, "later"] : rest,
            `byte ${at}, ${closed}`,
          );
          assert.is(await keep(journal), closed ? 7 : 6);
          await journal.close();
        }
      }
    });
  });

  test("a flipped byte of a length ends no process and no loop, and what lies before it stays", async () => {
    await withTempDir(async (dir) => {
      const whole = join(dir, "whole");
      await written(whole, letters(6));
      const path = await onlySegment(whole);
      const third = (await offsetsOf(path))[2] as number;
      for (let at = third; at < third + 4; at++) {
        const copy = join(dir, String(at));
        await mkdir(copy);
        await copyFile(path, join(copy, basename(path)));
        const first = await openTestJournal(copy, { segmentBytesMax: 100 });
        await keep(first, { payload: Buffer.from("later") });
        await first.close();
        await flipByte(join(copy, basename(path)), at);
        const journal = await openTestJournal(copy);
        const found = await payloadsOf(journal);
        assert.equal(found.slice(0, 2), letters(2));
        assert.is(found.at(-1), "later");
        await journal.close();
      }
    });
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

  test("ids go on after an empty newest segment", async () => {
    await withTempDir(async (dir) => {
      const options = { segmentBytesMax: 1 };
      const first = await openTestJournal(dir, options);
      for (let i = 0; i < 5; i++) await keep(first);
      await first.close();
      // A run that began a segment and was killed before its first commit: its only record is cut away.
      const names = (await readdir(dir)).filter((name) => name.endsWith(".journal")).sort();
      await truncate(join(dir, names.at(-1) as string), segmentHeadBytes);
      const second = await openTestJournal(dir, options);
      assert.is(second.appendedID, 4);
      assert.is(await keep(second), 5);
      await second.close();
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

  test("refuses a segment of a newer format and removes a file whose head never reached the disk", async () => {
    await withTempDir(async (dir) => {
      await written(dir, letters(2));
      const path = await onlySegment(dir);
      await writeFile(join(dir, "0000000000000009-z.journal"), Buffer.alloc(64));
      const journal = await openTestJournal(dir);
      assert.is(await keep(journal), 3);
      await journal.close();
      assert.not.ok((await readdir(dir)).some((name) => name.startsWith("0000000000000009-z")));
      const { crc32c } = await import("../../../store/lib/crc32c.js");
      const bytes = await readFile(path);
      bytes.writeUInt32LE(4, 8);
      bytes.writeUInt32LE(crc32c(bytes, 0, 60), 60);
      await writeFile(path, bytes);
      await rejects(() => openTestJournal(dir), /format 4/);
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
});
