import fc from "fast-check";
import type { EventQuery } from "../../../store/events/event-pages.js";
import { logs, type ReceivedTimes } from "../../../store/events/event-postings.js";
import { createSequence, type EventSequence } from "../../../store/events/event-sequence.js";
import type { EventSource } from "../../../store/events/event-source.js";
import { type MergeBounds, mergeBounds, pageOfMerged } from "../../../store/events/merged-pages.js";
import type { JournalRecord } from "../../../store/journal/record.js";
import { idsPerShard } from "../../../store/journal/shard-ids.js";
import { assert, suite } from "../../suite.js";
import { journalRecord } from "../journal/support.js";
import { inMergedOrder } from "./merge-oracle.js";

/** A segment in memory: times of receipt in the order of ids, null for a record that cannot be read. */
interface MadeSegment {
  readonly times: readonly (number | null)[];
  /** Times of records that the query does not ask for. */
  readonly others: readonly number[];
  readonly indexTells: "all" | "span" | "nothing";
}

interface Work {
  /** Records read from sources, and those that lie open at this moment. */
  read: number;
  open: number;
}

function receivedOf({ times, others, indexTells }: MadeSegment): ReceivedTimes | null {
  const known = [...others, ...times.filter((time) => time !== null)];
  if (indexTells === "nothing" || known.length === 0) return null;
  let latest = Number.NEGATIVE_INFINITY;
  let disorder = 0;
  for (const time of known) {
    latest = Math.max(latest, time);
    disorder = Math.max(disorder, latest - time);
  }
  const oldest = known.reduce((low, time) => Math.min(low, time));
  return { oldest, newest: latest, disorder: indexTells === "all" ? disorder : null };
}

function sourceOf(made: MadeSegment, firstID: number, work: Work): EventSource {
  const { length } = made.times;
  const recordAt = (place: number): JournalRecord | null => {
    const i = length - 1 - place;
    const time = made.times[i] ?? null;
    return time === null ? null : journalRecord(firstID + i, time, { topic: `${i % 3}` });
  };
  return {
    segment: { firstID } as EventSource["segment"],
    count: length,
    received: receivedOf(made),
    offsets: (skip, count, step = 1) =>
      Array.from({ length: count }, (_, i) => skip + i * step).filter((at) => at < length),
    read: async function* (offsets) {
      work.open++;
      try {
        for (let at = 0; at < offsets.length; at += 5) {
          const some = offsets.slice(at, at + 5);
          work.read += some.length;
          yield some.map(recordAt);
        }
      } finally {
        work.open--;
      }
    },
  };
}

/** The sequence of a shard from its segments, oldest first. */
function made(shard: number, segments: readonly MadeSegment[], work: Work, query: EventQuery): EventSequence {
  let id = shard * idsPerShard + 1;
  const sources = segments.map((segment) => {
    const source = sourceOf(segment, id, work);
    id += segment.times.length;
    return source;
  });
  return createSequence(shard, sources.reverse(), query);
}

interface Item {
  readonly id: number | null;
  readonly receivedAt: number;
  readonly topic: string;
}

function expectedOrder(shards: readonly (readonly MadeSegment[])[]): Item[] {
  const sequences = shards.map((segments, shard) => {
    let id = shard * idsPerShard;
    const items = segments.flatMap((segment) => {
      const newest = receivedOf(segment)?.newest ?? Number.POSITIVE_INFINITY;
      return segment.times.map((time, i): Item => {
        id++;
        return { id: time === null ? null : id, receivedAt: time ?? newest, topic: `${i % 3}` };
      });
    });
    return { shard, items: items.reverse() };
  });
  return inMergedOrder(sequences, ({ receivedAt }) => receivedAt);
}

const query = (fields: Partial<EventQuery> = {}): EventQuery => ({
  log: logs.events,
  tenant: 1,
  devices: null,
  page: 1,
  limit: 10,
  ...fields,
});

const idsOf = (records: readonly JournalRecord[]): number[] => records.map(({ id }) => id);

/** Mostly forward, sometimes back, sometimes not at all. */
const clockMoves = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 20 }) },
    { weight: 1, arbitrary: fc.integer({ min: -15, max: 0 }) },
    { weight: 1, arbitrary: fc.integer({ min: -400, max: 400 }) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
  { maxLength: 70 },
);
const segmentMoves = fc.tuple(
  clockMoves,
  fc.array(fc.integer({ min: 600, max: 2000 }), { maxLength: 2 }),
  fc.oneof({ weight: 6, arbitrary: fc.constant("all" as const) }, fc.constantFrom("span", "nothing")),
);
const shardsMade = fc
  .array(fc.array(segmentMoves, { maxLength: 5 }), { minLength: 2, maxLength: 5 })
  .map((shards) =>
    shards.map((segments) => {
      let clock = 1000;
      return segments.map(([moves, others, indexTells]): MadeSegment => {
        const times = moves.map((move) => {
          clock += move ?? 0;
          return move === null ? null : clock;
        });
        return { times, others, indexTells: indexTells as MadeSegment["indexTells"] };
      });
    }),
  );

suite("pages over several shards", (test) => {
  test("every page of every list reads as the sorted turns say, whatever clocks and indexes contain", async () => {
    const pages = fc.record({
      page: fc.integer({ min: 1, max: 30 }),
      limit: fc.integer({ min: 1, max: 20 }),
    });
    const nearRows = fc.constantFrom(0, 3, 40);
    await fc.assert(
      fc.asyncProperty(
        shardsMade,
        fc.array(pages, { minLength: 6, maxLength: 6 }),
        nearRows,
        async (shards, asked, near) => {
          const expected = expectedOrder(shards);
          for (const { page, limit } of asked) {
            for (const topic of [null, "1"]) {
              const matches = (record: JournalRecord) => "topic" in record && record.topic === topic;
              const plain = query({ page, limit });
              const asking = topic === null ? plain : { ...plain, matches };
              const work = { read: 0, open: 0 };
              const sequences = shards.map((segments, shard) => made(shard, segments, work, asking));
              const found = await pageOfMerged(sequences, asking, { ...mergeBounds, nearRows: near });
              const rows = expected.filter(
                (item) => topic === null || (item.id !== null && item.topic === topic),
              );
              const ids = rows.slice((page - 1) * limit, page * limit).flatMap(({ id }) => id ?? []);
              assert.equal(idsOf(found.items), ids);
              assert.equal([found.count, found.truncated], [rows.length, false]);
              assert.is(work.open, 0, "all that was opened is closed");
            }
          }
        },
      ),
      { numRuns: 400, endOnFailure: true },
    );
  });

  test("with few rows allowed a page is right as far as it goes, and says where it ends", async () => {
    const bounds: MergeBounds = { scanRowsMax: 25, nearRows: 3 };
    let truncated = 0;
    await fc.assert(
      fc.asyncProperty(shardsMade, fc.integer({ min: 1, max: 9 }), async (shards, page) => {
        const expected = expectedOrder(shards);
        const work = { read: 0, open: 0 };
        const plain = query({ page });
        const found = await pageOfMerged(
          shards.map((segments, shard) => made(shard, segments, work, plain)),
          plain,
          bounds,
        );
        const whole = expected.slice((page - 1) * 10, page * 10).flatMap(({ id }) => id ?? []);
        assert.equal(idsOf(found.items), whole.slice(0, found.items.length));
        assert.is(found.count, expected.length);
        if (!found.truncated) assert.is(found.items.length, whole.length);
        else truncated++;

        const filtered = query({ page: 1, limit: 1000, matches: ({ id }) => id % 2 === 0 });
        const looked = expected.slice(0, bounds.scanRowsMax).flatMap(({ id }) => id ?? []);
        const matching = await pageOfMerged(
          shards.map((segments, shard) => made(shard, segments, work, filtered)),
          filtered,
          bounds,
        );
        assert.equal(
          idsOf(matching.items),
          looked.filter((id) => id % 2 === 0),
        );
        assert.is(matching.truncated, expected.length > bounds.scanRowsMax);
      }),
      { numRuns: 400, endOnFailure: true },
    );
    assert.ok(truncated > 0, "some pages lie too deep");
  });

  /** Four shards whose segments, of 20,000 records each, all overlap. */
  const many = (timeOf: (shard: number, i: number) => number): MadeSegment[][] =>
    [0, 1, 2, 3].map((shard) =>
      [0, 1, 2].map((nth) => ({
        times: Array.from({ length: 20_000 }, (_, i) => timeOf(shard, nth * 20_000 + i)),
        others: [],
        indexTells: "all" as const,
      })),
    );

  test("a deep page is found by looking at few rows, though segments overlap and receipts are a little out of order", async () => {
    // Each shard at its own pace, every tenth record received up to 300 earlier than the one before it.
    const shards = many((shard, i) => (100 + shard) * i - (i % 10 === 9 ? 300 : 0));
    const all = shards.flatMap((segments, shard) => {
      let turn = Number.POSITIVE_INFINITY;
      const times = segments.flatMap(({ times: own }) => own);
      return times
        .map((time, i) => ({ id: shard * idsPerShard + 1 + i, time: time ?? 0 }))
        .reverse()
        .map(({ id, time }) => {
          turn = Math.min(turn, time);
          return { id, turn };
        });
    });
    const expected = all.sort((a, b) => b.turn - a.turn);
    for (const page of [1, 500, 6_000, 12_345, 23_999, 24_000]) {
      const work = { read: 0, open: 0 };
      const deep = query({ page });
      const found = await pageOfMerged(
        shards.map((segments, shard) => made(shard, segments, work, deep)),
        deep,
        { scanRowsMax: 2000, nearRows: 400 },
      );
      assert.equal([found.count, found.truncated], [240_000, false]);
      const turns = new Map(all.map(({ id, turn }) => [id, turn]));
      assert.equal(
        found.items.map(({ id }) => turns.get(id)),
        expected.slice((page - 1) * 10, page * 10).map(({ turn }) => turn),
        `page ${page}`,
      );
      assert.ok(work.read < 3000, `page ${page}: ${work.read} rows`);
    }
    const past = query({ page: 24_001 });
    const nothing = await pageOfMerged(
      shards.map((segments, shard) => made(shard, segments, { read: 0, open: 0 }, past)),
      past,
      mergeBounds,
    );
    assert.equal(nothing, { items: [], count: 240_000, truncated: false });
  });

  test("a deep page behind a clock that was set back by days is refused, not guessed", async () => {
    const shards = many((shard, i) => 1e9 + i * 10 + shard - (i === 59_000 ? 9e8 : 0));
    const work = { read: 0, open: 0 };
    const deep = query({ page: 5_000 });
    const found = await pageOfMerged(
      shards.map((segments, shard) => made(shard, segments, work, deep)),
      deep,
      { scanRowsMax: 10_000, nearRows: 400 },
    );
    assert.equal(found, { items: [], count: 240_000, truncated: true });
    assert.ok(work.read < 10_000, `${work.read} rows`);
  });
});
