import { copyFile, mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { recordSize } from "../../../store/journal/frame.js";
import type { Journal } from "../../../store/journal/journal.js";
import { segmentHeadBytes } from "../../../store/journal/segment-head.js";
import { assert, rejects, suite, withTempDir } from "../../suite.js";
import { journalContract } from "./contract.js";
import { flipByte, keep, openTestJournal, readAll, textOf } from "./support.js";

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

const payloadsOf = async (journal: Journal): Promise<string[]> => (await readAll(journal)).map(textOf);
const letters = (count: number): string[] => Array.from({ length: count }, (_, i) => `message ${i}`);

suite("journal", (test) => {
  journalContract(test, openTestJournal);

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

  test("a tail of garbage after the last record is cut and kept in a file of its own", async () => {
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
});
