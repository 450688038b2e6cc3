import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import type { JournalReader } from "../../../store/journal/reader.js";
import { decodeRecord } from "../../../store/journal/record-codecs.js";
import type { Segment } from "../../../store/journal/segment.js";
import { createTail } from "../../../store/journal/tail.js";
import { assert, suite, withTempDir } from "../../suite.js";
import { keep, openTestJournal, readAll } from "./support.js";

interface Seen {
  readonly id: number;
  readonly topic: string;
  readonly payload: string;
}

/** Reads at most so many batches. */
async function readSome(reader: JournalReader, batches: number, seen: Seen[]): Promise<void> {
  for (let i = 0; i < batches; i++) {
    const batch = await reader.next();
    if (batch === null) return;
    for (const at of batch.offsets) {
      const record = decodeRecord(batch.buffer, at, batch.topics);
      if (!("payload" in record && "topic" in record)) throw new Error("it is no message");
      seen.push({ id: record.id, topic: record.topic, payload: record.payload.toString() });
    }
  }
}

const payloads = fc.array(fc.string({ unit: "binary-ascii", maxLength: 300 }), { maxLength: 12 });
/** Commits, each of some payloads, and how many batches are read after it. */
const steps = fc.array(fc.tuple(payloads, fc.nat(3)), { maxLength: 25 });

suite("the journal's tail", (test) => {
  test("a follower reads the same from memory and from the disk, however far it is behind", () =>
    fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 200, max: 4000 }), (commits, segmentBytesMax) =>
        withTempDir(async (dir) => {
          const journal = await openTestJournal(dir, { segmentBytesMax });
          const [reader, seen] = [await journal.read(0), [] as Seen[]];
          const sent: string[] = [];
          for (const [some, batches] of commits) {
            await Promise.all(some.map((payload) => keep(journal, { payload: Buffer.from(payload) })));
            sent.push(...some);
            await readSome(reader, batches, seen);
          }
          await readSome(reader, Number.POSITIVE_INFINITY, seen);
          await reader.close();
          // Nobody follows any more: this reader has the disk alone.
          const [again, fromDisk] = [await journal.read(0), [] as Seen[]];
          await readSome(again, Number.POSITIVE_INFINITY, fromDisk);
          await again.close();
          await journal.close();
          assert.equal(
            seen.map(({ payload }) => payload),
            sent,
          );
          assert.equal(seen, fromDisk);
        }),
      ),
      { numRuns: 60 },
    ));

  test("what has become damaged on the disk since is read by who keeps up, and reported to who does not", () =>
    withTempDir(async (dir) => {
      const damaged: number[] = [];
      const journal = await openTestJournal(dir, { onDamage: () => damaged.push(1) });
      const [reader, seen] = [await journal.read(0), [] as Seen[]];
      await keep(journal, { payload: Buffer.from("first") });
      await readSome(reader, 10, seen);
      await keep(journal, { payload: Buffer.from("second") });
      const [name = ""] = (await readdir(dir)).filter((one) => one.endsWith(".journal"));
      const file = await open(join(dir, name), "r+");
      const { size } = await file.stat();
      await file.write(Buffer.alloc(4), 0, 4, size - 10);
      await file.close();
      await readSome(reader, 10, seen);
      assert.equal(
        seen.map(({ payload }) => payload),
        ["first", "second"],
      );
      assert.is(damaged.length, 0);
      await reader.close();
      assert.is((await readAll(journal)).length, 1);
      assert.is(damaged.length, 1);
      await journal.close();
    }));

  test("small commits hold no more memory than is counted", () => {
    const segment = { path: "one" } as unknown as Segment;
    const record = Buffer.alloc(100);
    record.writeUInt32LE(92, 0);
    const bytesMax = 1 << 20;
    const tail = createTail(bytesMax);
    tail.follow();
    const positions = Array.from({ length: 20_000 }, (_, i) => i * record.length);
    for (const position of positions) {
      tail.keep(segment, position, [record]);
      // What else goes on in the process takes of Node's pool of small buffers as well.
      Buffer.from("something else of some bytes, which is let go at once");
    }
    const chunks = positions.flatMap((position) => tail.at(segment, position) ?? []);
    const memory = new Set(chunks.map(({ bytes }) => bytes.buffer));
    const held = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
    assert.ok(chunks.length > 1000, `only ${chunks.length} chunks`);
    assert.ok(held <= bytesMax, `${chunks.length} chunks hold ${held} bytes`);
  });

  test("holds no more than its bytes, the newest, of one segment, and only while somebody reads", () => {
    const [one, two] = [{ path: "one" }, { path: "two" }] as unknown as [Segment, Segment];
    const record = Buffer.alloc(100);
    record.writeUInt32LE(92, 0);
    // A chunk is counted with its overhead, so two chunks of one record fit.
    const tail = createTail(1300);
    const held = (segment: Segment, positions: number[]) =>
      positions.filter((position) => tail.at(segment, position) !== undefined);
    tail.keep(one, 0, [record]);
    assert.equal(held(one, [0]), []);
    const leave = tail.follow();
    for (const position of [100, 200, 300]) tail.keep(one, position, [record]);
    assert.equal(held(one, [100, 200, 300]), [200, 300]);
    tail.keep(
      one,
      400,
      Array.from({ length: 14 }, () => record),
    );
    assert.equal(held(one, [200, 300, 400]), [200, 300]);
    tail.keep(two, 100, [record, record]);
    assert.equal(held(one, [200, 300]), []);
    assert.equal(tail.at(two, 100)?.offsets, [0, 100]);
    const leaveToo = tail.follow();
    leave();
    leave();
    assert.equal(held(two, [100]), [100]);
    leaveToo();
    assert.equal(held(two, [100]), []);
  });
});
