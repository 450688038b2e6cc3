/** What a look at every byte of a journal calls a fault, and what the next start puts right by itself. */
import { readFile, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Segment } from "../../../store/journal/segment.js";
import {
  encodeHead,
  formatSegmentName,
  newHead,
  segmentHeadBytes,
} from "../../../store/journal/segment-head.js";
import { verifyJournal } from "../../../store/journal/verify.js";
import { assert, suite, withTempDir } from "../../suite.js";
import { flipByte, journalInput, keep, openTestJournal } from "./support.js";

const records = 6;

suite("a look at every byte of a journal", (test) => {
  /** A journal of several segments, closed. */
  async function withSegments(
    use: (dir: string, segments: readonly Segment[]) => Promise<void>,
  ): Promise<void> {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(dir, { segmentBytesMax: 400 });
      for (let n = 0; n < records; n++) await keep(journal, { payload: Buffer.alloc(100, n) });
      await journal.close();
      assert.ok(journal.segments.length > 2, `${journal.segments.length} segments`);
      await use(dir, journal.segments);
    });
  }

  async function verified(dir: string) {
    const faults: string[] = [];
    const found = await verifyJournal(dir, (file, fault) => faults.push(`${basename(file)}: ${fault}`));
    return { records: found.records, faults };
  }

  function placeAfter(segments: readonly Segment[]) {
    const { firstID } = segments.at(-1) as Segment;
    return { firstID: records + 1, afterID: records, previousID: firstID, createdAt: Date.now() };
  }

  test("a segment whose head is only being written is none", () =>
    withSegments(async (dir, segments) => {
      const head = newHead(placeAfter(segments));
      const path = join(dir, formatSegmentName(head));
      await writeFile(path, encodeHead(head));
      for (const bytes of [segmentHeadBytes, 40, 0]) {
        await truncate(path, bytes);
        assert.equal(await verified(dir), { records, faults: [] }, `${bytes} bytes`);
      }
      // One that is there and not as it was written is damage, though nothing follows it.
      await writeFile(path, encodeHead(head));
      await flipByte(path, 20);
      const { faults } = await verified(dir);
      assert.equal(faults, [`${basename(path)}: neither its head nor its name says how to read it`]);
    }));

  test("a segment whose place another has taken is none, and its records do not count", () =>
    withSegments(async (dir, segments) => {
      const place = placeAfter(segments);
      const failed = newHead(place);
      const torn = (await readFile((segments[0] as Segment).path)).subarray(segmentHeadBytes);
      await writeFile(join(dir, formatSegmentName(failed)), Buffer.concat([encodeHead(failed), torn]));
      const taken = newHead({ ...place, createdAt: place.createdAt + 1 });
      await writeFile(join(dir, formatSegmentName(taken)), encodeHead(taken));
      assert.equal(await verified(dir), { records, faults: [] });
      // As the next start sees it: nothing is lost, and it goes on.
      const reopened = await openTestJournal(dir, { onDamage: (damage) => assert.unreachable(damage.what) });
      assert.is(await reopened.append(journalInput({ payload: Buffer.of(1) })), records + 1);
      await reopened.close();
    }));

  test("one that is gone, or has no head though it has records, is a fault", () =>
    withSegments(async (dir, segments) => {
      const [first, second, third] = segments as [Segment, Segment, Segment];
      await writeFile(join(dir, "nobody's.journal"), Buffer.alloc(200, 7));
      await truncate(second.path, 0);
      const { faults } = await verified(dir);
      const [from, to] = [second.firstID, third.firstID - 1];
      assert.equal(faults, [
        "nobody's.journal: neither its head nor its name says how to read it",
        `${basename(first.path)}: records ${from} to ${to} are lost, at ${first.bytes}`,
        `${basename(third.path)}: segments between ${basename(first.path)} and this one are gone`,
      ]);
    }));
});
