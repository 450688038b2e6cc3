/** Entries of an envelope: their topic stands once in each segment, and every reader finds it. */
import { open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { readAt } from "../../../store/events/event-reading.js";
import type { Damage } from "../../../store/files/damage.js";
import { createBatches } from "../../../store/journal/batch.js";
import { decodeFrame, peekRecord, readTopicDistance, recordSize } from "../../../store/journal/frame.js";
import { type EntryRecord, isMessage, type JournalRecord } from "../../../store/journal/record.js";
import { toFrameInput } from "../../../store/journal/record-codecs.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { segmentHeadBytes } from "../../../store/journal/segment-head.js";
import { createSharedTopics } from "../../../store/journal/shared-topics.js";
import { createTopicFinder } from "../../../store/journal/topics.js";
import { crc32c } from "../../../store/lib/crc32c.js";
import { assert, rejects, suite, withTempDir } from "../../suite.js";
import { journalInput, keep, openTestJournal, readMessages } from "./support.js";

const topicOfEnvelope = (envelope: number): string => `site/${envelope}/telemetry/é`;

const entry = (envelope: number, payload: string, fields: Partial<EntryRecord> = {}): EntryRecord =>
  journalInput({
    kind: recordKinds.entry,
    envelope,
    topic: topicOfEnvelope(envelope),
    payload: Buffer.from(payload),
    ...fields,
  });

async function segmentsOf(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => name.endsWith(".journal")).map((name) => join(dir, name));
}

function occurrences(bytes: Buffer, text: string): number {
  let found = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) found++;
  return found;
}

/** Entries of a few envelopes among other records, in commits of some, over runs that end. */
const runs = fc.array(
  fc.array(fc.array(fc.integer({ min: -1, max: 3 }), { minLength: 1, maxLength: 12 }), { maxLength: 12 }),
  { minLength: 1, maxLength: 3 },
);

suite("topics of entries", (test) => {
  test("stand once in each segment, through commits, segments and restarts; every reader finds them", async () => {
    await fc.assert(
      fc.asyncProperty(
        runs,
        fc.integer({ min: 300, max: 4000 }),
        fc.nat({ max: 60 }),
        (all, segmentBytesMax, from) =>
          withTempDir(async (dir) => {
            const expected: [number, string][] = [];
            for (const commits of all) {
              const journal = await openTestJournal(dir, { segmentBytesMax });
              for (const commit of commits) {
                let last = 0;
                for (const envelope of commit) {
                  const input =
                    envelope < 0 ? journalInput({ topic: "another" }) : entry(envelope, `{"n":${envelope}}`);
                  last = journal.append(input);
                  expected.push([last, input.topic]);
                }
                await journal.waitFor(last - 1);
              }
              const read = (await readMessages(journal, from)).map(({ id, topic }) => [id, topic]);
              assert.equal(
                read,
                expected.filter(([id]) => id > from),
              );
              for (const segment of journal.segments) {
                const bytes = await readFile(segment.path);
                const offsets: number[] = [];
                for (
                  let at = segmentHeadBytes;
                  at < bytes.length;
                  at += recordSize(bytes, at, bytes.length)
                ) {
                  offsets.push(at);
                }
                const newestFirst: JournalRecord[] = [];
                const damage = () => assert.unreachable("damage");
                for await (const some of readAt(segment, offsets.toReversed(), damage))
                  newestFirst.push(...some.filter((record) => record !== null));
                assert.equal(
                  newestFirst
                    .filter(isMessage)
                    .toReversed()
                    .map(({ id, topic }) => [id, topic]),
                  offsets.map((at) => expected.find(([id]) => id === peekRecord(bytes, at).id)),
                );
                for (let envelope = 0; envelope <= 3; envelope++) {
                  const found = occurrences(bytes, topicOfEnvelope(envelope));
                  const holds = offsets.some(
                    (at) =>
                      peekRecord(bytes, at).kind === recordKinds.entry &&
                      decodeFrame(bytes, at).connection === envelope,
                  );
                  assert.is(found, holds ? 1 : 0, `envelope ${envelope}`);
                }
              }
              await journal.close();
            }
          }),
      ),
      { numRuns: 60, endOnFailure: true },
    );
  });

  test("9,600 entries under a topic of 1,000 bytes take as much as their payloads and heads, not their topics", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(dir);
      const topic = "t".repeat(1000);
      for (let i = 0; i < 9600; i += 1200) {
        let last = 0;
        for (let n = 0; n < 1200; n++) last = journal.append(entry(1, "{}", { topic, ordinal: i + n }));
        await journal.waitFor(last - 1);
      }
      const [segment] = journal.segments;
      assert.ok((segment?.bytes ?? 0) < 9600 * 100, `${segment?.bytes} bytes`);
      const records = await readMessages(journal);
      assert.equal([records.length, new Set(records.map((record) => record.topic)).size], [9600, 1]);
      await journal.close();
    }));

  test("a batch that a failing disk moves to another segment, once or twice, is right there too", async () => {
    const place = fc.subarray([0, 1, 2, 3]);
    const commit = fc.array(fc.integer({ min: -1, max: 3 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(commit, fc.array(place, { minLength: 1, maxLength: 3 }), async (envelopes, places) => {
        const batch = createBatches()(1, 9);
        const expected = envelopes.map((envelope) => {
          const input = envelope < 0 ? journalInput() : entry(envelope, "{}");
          batch.add(toFrameInput(input), 1, 1, undefined);
          return input.topic;
        });
        for (const [i, earlier] of places.entries()) {
          const salt = i + 1;
          // What the segment holds already: an entry of each of these envelopes.
          const before = createBatches()(1, salt);
          const topics = createSharedTopics();
          for (const envelope of earlier) before.add(toFrameInput(entry(envelope, "{}")), 1, 1, undefined);
          for (const [envelope, at] of before.holders) topics.add(envelope, segmentHeadBytes + at);
          const position = segmentHeadBytes + before.bytes;
          await batch.fit({ salt, position, topics });
          const file = Buffer.concat([Buffer.alloc(segmentHeadBytes), ...before.views(), ...batch.views()]);
          assert.is(file.length, position + batch.bytes);
          const offsets: number[] = [];
          for (let at = position; at < file.length; at += recordSize(file, at, file.length)) offsets.push(at);
          const found = await createTopicFinder(salt).find({} as never, file, 0, offsets);
          assert.equal(
            offsets.map((at) => decodeFrame(file, at, found).text),
            expected,
          );
          for (const envelope of earlier) {
            assert.is(occurrences(file, topicOfEnvelope(envelope)), 1);
          }
        }
      }),
      { numRuns: 300, endOnFailure: true },
    );
  });

  test("a large batch is written anew in turns", async () => {
    const batch = createBatches()(1, 9);
    for (let i = 0; i < 20_000; i++) batch.add(toFrameInput(entry(1, `{"n":${i}}`)), 1, 1, undefined);
    const topics = createSharedTopics();
    topics.add(1, segmentHeadBytes);
    let turns = 0;
    let ended = false;
    const counting = (async () => {
      for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    await batch.fit({ salt: 2, position: segmentHeadBytes + 200, topics });
    ended = true;
    await counting;
    assert.ok(turns >= 39, `${turns} turns`);
  });

  test("where the record that holds it is damaged, the others are there without it", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(dir);
      for (let i = 0; i < 3; i++) await keep(journal, entry(1, `{"n":${i}}`));
      await keep(journal, entry(2, "{}"));
      await journal.close();
      const [path = ""] = await segmentsOf(dir);
      const bytes = await readFile(path);
      assert.is(readTopicDistance(bytes, segmentHeadBytes), 0);
      const at = bytes.indexOf(topicOfEnvelope(1));
      bytes[at] = (bytes[at] as number) ^ 1;
      await writeFile(path, bytes);
      const damages: Damage[] = [];
      const again = await openTestJournal(dir, { onDamage: (damage) => damages.push(damage) });
      const read = await readMessages(again);
      assert.equal(
        read.map(({ id, topic, payload }) => [id, topic, String(payload)]),
        [
          [2, "", '{"n":1}'],
          [3, "", '{"n":2}'],
          [4, topicOfEnvelope(2), "{}"],
        ],
      );
      assert.ok(damages.length > 0);
      await again.close();
    }));

  test("a folder of format 2 is read on; what is new goes to a segment of its own; a newer format is refused", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(dir);
      // As format 2 has them: each holds its own topic.
      for (let i = 0; i < 3; i++) await keep(journal, entry(i, `{"n":${i}}`));
      await journal.close();
      const [path = ""] = await segmentsOf(dir);
      const setFormat = async (format: number): Promise<void> => {
        const file = await open(path, "r+");
        const head = Buffer.alloc(segmentHeadBytes);
        await file.read(head, 0, segmentHeadBytes, 0);
        head.writeUInt32LE(format, 8);
        head.writeUInt32LE(crc32c(head, 0, segmentHeadBytes - 4), segmentHeadBytes - 4);
        await file.write(head, 0, segmentHeadBytes, 0);
        await file.close();
      };
      await setFormat(2);
      const before = await readFile(path);
      const again = await openTestJournal(dir);
      for (let i = 0; i < 2; i++) await keep(again, entry(2, "{}"));
      assert.equal(
        (await readMessages(again)).map(({ id, topic }) => [id, topic]),
        [0, 1, 2, 2, 2].map((envelope, i) => [i + 1, topicOfEnvelope(envelope)]),
      );
      await again.close();
      assert.is((await segmentsOf(dir)).length, 2);
      assert.is(Buffer.compare(await readFile(path), before), 0);
      await setFormat(4);
      await rejects(() => openTestJournal(dir), /format 4/);
    }));
});
