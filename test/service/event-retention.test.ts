/** Which segments of the journals go, and what is said of it. */
import { computeCheckpoint, createEventRetention, listRemovable } from "../../src/service/event-retention.js";
import type { Segment } from "../../store/journal/segment.js";
import { StoreError } from "../../store/lib/errors.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import { createStillClock } from "../clock.js";
import { assert, suite } from "../suite.js";

const dayMs = 86_400_000;
const clock = createStillClock();

/** Segments of ten records and so many bytes, an hour apart, the newest begun now. */
function segmentsOf(count: number, bytes: number): Segment[] {
  return Array.from({ length: count }, (_, i) => ({
    firstID: 1 + 10 * i,
    createdAt: clock.now() - (count - 1 - i) * 3_600_000,
    bytes,
    path: `${i}`,
  })) as Partial<Segment>[] as Segment[];
}

interface Fake {
  readonly shard: { readonly number: number; readonly journal: { readonly segments: Segment[] } };
}

/** A shard all of whose records are settled, in ten segments of ten bytes. `drops` is called for each that goes. */
function shardOf(number: number, drops: (segment: Segment) => void = () => undefined) {
  const segments = segmentsOf(10, 10);
  return {
    savedAlertsID: 100,
    shard: {
      number,
      saved: { savedID: 100 },
      journal: {
        segments,
        drop: async (segment: Segment) => {
          drops(segment);
          assert.is(segments.shift(), segment);
        },
      },
      events: { forget: () => undefined },
      snapshots: null,
    },
  };
}

const leftIn = (shards: readonly Fake[]): number[] =>
  shards.map(({ shard }) => shard.journal.segments.length);

interface Given {
  readonly bytes: number;
  readonly shards: number;
  readonly nodes: number | null;
}

/** The retention over `all`, which shards may join and leave, and what it has logged. */
function retentionOf<T>(
  { bytes, shards, nodes }: Given,
  all: readonly T[],
  isHeld = () => false,
  ending = new AbortController().signal,
) {
  const lines: string[] = [];
  const note = (line: string, fields: { readonly shard?: number } = {}): void => {
    if (fields.shard !== undefined) lines.push(`${line}: ${fields.shard}`);
  };
  const apply = createEventRetention({
    config: {
      eventRetentionDays: 30,
      eventRetentionBytes: bytes,
      shards: Array.from({ length: shards }, (_, i) => i),
      cluster: nodes === null ? null : { nodes: Array.from({ length: nodes }) },
    },
    pipelines: { all },
    series: { checkpoint: async () => 100 },
    isHeld,
    ending,
    log: { info: note, warn: note },
    now: clock.now,
  } as never);
  return { apply, lines };
}

suite("the events' retention", (test) => {
  test("takes what is beyond the bytes, the oldest first, or has ended before the days", () => {
    const segments = segmentsOf(5, 10);
    const numbers = (bounds: Partial<Parameters<typeof listRemovable>[1]>): readonly string[] =>
      listRemovable(segments, { checkpoint: 1000, endedBefore: 0, bytesMax: 1000, ...bounds }).map(
        (one) => one.path,
      );
    assert.equal(numbers({}), []);
    assert.equal(numbers({ bytesMax: 50 }), []);
    assert.equal(numbers({ bytesMax: 49 }), ["0"]);
    assert.equal(numbers({ bytesMax: 25 }), ["0", "1", "2"]);
    // A segment ends where the next begins.
    assert.equal(numbers({ endedBefore: segments[2]?.createdAt ?? 0 }), ["0"]);
    assert.equal(numbers({ endedBefore: (segments[2]?.createdAt ?? 0) + 1 }), ["0", "1"]);
  });

  test("takes no segment because the clock was set back after it, or stood wrong while the next was begun", () => {
    const begun = [10, 20, 21, -20_000, 22, 23].map((days) => days * dayMs);
    const segments = begun.map((createdAt, i) => ({ firstID: 1 + i * 10, createdAt, bytes: 1 }));
    const gone = (day: number): number =>
      listRemovable(segments, { checkpoint: 1000, endedBefore: day * dayMs, bytesMax: 1000 }).length;
    // By the segment in front of it, the one that seems to have begun decades ago ended after it.
    assert.equal([20, 20.5, 21, 21.5, 22.5, 24].map(gone), [0, 1, 1, 3, 4, 5]);
  });

  test("never takes the newest, nor what is not settled", () => {
    const taken = (checkpoint: number): number =>
      listRemovable(segmentsOf(5, 10), { checkpoint, endedBefore: clock.now() + dayMs, bytesMax: 0 }).length;
    assert.equal([0, 9, 10, 19, 20, 40, 1000].map(taken), [0, 0, 1, 1, 2, 4, 4]);
    assert.equal(listRemovable([], { checkpoint: 0, endedBefore: 0, bytesMax: 0 }), []);
  });

  test("waits for each follower: points, sessions, alerts", async () => {
    const one = shardOf(3);
    const upTo = (points: number, sessions: number, alerts: number) =>
      computeCheckpoint(
        { ...one, savedAlertsID: alerts, shard: { ...one.shard, saved: { savedID: sessions } } } as never,
        { checkpoint: async (shard) => (shard === 3 ? points : 0) },
      );
    assert.is(await upTo(5, 8, 9), 5);
    assert.is(await upTo(8, 5, 9), 5);
    assert.is(await upTo(8, 9, 5), 5);
  });

  test("deletes nothing for the shards that a node takes over while others are away", async () => {
    // Six shards, three nodes: the space is for the two that each node has.
    const all = [shardOf(0), shardOf(1)];
    const { apply } = retentionOf({ bytes: 200, shards: 6, nodes: 3 }, all);
    await apply();
    assert.equal(leftIn(all), [10, 10]);
    all.push(shardOf(2), shardOf(3), shardOf(4), shardOf(5));
    await apply();
    assert.equal(leftIn(all), [10, 10, 10, 10, 10, 10]);
  });

  test("gives a shard the same part wherever it is, and whatever else is there", async () => {
    const cases = [
      { bytes: 100, shards: 6, nodes: 3, left: 5 },
      { bytes: 100, shards: 7, nodes: 3, left: 3 },
      { bytes: 60, shards: 3, nodes: 3, left: 6 },
      { bytes: 60, shards: 1, nodes: null, left: 6 },
      { bytes: 120, shards: 3, nodes: null, left: 4 },
    ];
    for (const { left, ...given } of cases) {
      const alone = [shardOf(0)];
      await retentionOf(given, alone).apply();
      assert.equal(leftIn(alone), [left], JSON.stringify(given));
      const together = [shardOf(0), shardOf(1), shardOf(2)];
      await retentionOf(given, together).apply();
      assert.equal(leftIn(together), [left, left, left], JSON.stringify(given));
    }
  });

  test("says once that a shard's log lets nothing go, and once that it does again; others are not held up", async () => {
    let isAway = true;
    const all = [
      shardOf(0, () => {
        if (isAway) throw new StoreError("UNAVAILABLE", "no broker answers");
      }),
      shardOf(1),
    ];
    const { apply, lines } = retentionOf({ bytes: 100, shards: 2, nodes: null }, all);
    await apply();
    await apply();
    assert.equal(leftIn(all), [10, 5]);
    assert.equal(lines, ["cannot let segments go: 0"]);
    isAway = false;
    await apply();
    await apply();
    assert.equal(leftIn(all), [5, 5]);
    assert.equal(lines, ["cannot let segments go: 0", "segments can be let go again: 0"]);
  });

  test("says nothing of a shard that has gone meanwhile", async () => {
    const all: ReturnType<typeof shardOf>[] = [];
    all.push(
      shardOf(0, () => {
        all.pop();
        throw new StoreError("UNAVAILABLE", "the log is closed");
      }),
    );
    const { apply, lines } = retentionOf({ bytes: 0, shards: 1, nodes: null }, all);
    await apply();
    assert.equal([all.length, lines], [0, []]);
  });

  test("takes nothing while a backup holds it, not even what it was about to take", async () => {
    let isHeld = false;
    const all = [
      shardOf(0, () => {
        isHeld = true;
      }),
    ];
    const { apply } = retentionOf({ bytes: 0, shards: 1, nodes: null }, all, () => isHeld);
    await apply();
    assert.equal(leftIn(all), [9]);
    await apply();
    assert.equal(leftIn(all), [9]);
  });

  test("copies the sessions of one shard at a time, and of no more once it is to end", async () => {
    const end = new AbortController();
    let [underWay, most, made] = [0, 0, 0];
    const all = [0, 1, 2, 3].map((number) => {
      const snapshots = {
        coveredID: 0,
        renew: async (signal: AbortSignal) => {
          most = Math.max(most, ++underWay);
          await nextTurn();
          underWay--;
          made++;
          if (number === 2) end.abort();
          if (signal.aborted) throw new StoreError("UNAVAILABLE", "given up");
          snapshots.coveredID = 100;
        },
      };
      const one = shardOf(number);
      return { ...one, shard: { ...one.shard, snapshots } };
    });
    const given = { bytes: 200, shards: 4, nodes: null };
    const { apply, lines } = retentionOf(given, all, undefined, end.signal);
    await apply();
    assert.equal([most, made, underWay], [1, 3, 0]);
    assert.equal(lines, [], "that it ends is no failure");
    assert.equal(leftIn(all), [5, 5, 10, 10]);
  });
});
