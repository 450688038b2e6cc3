import type { LostPoints } from "../../../ingest/consumers/replay.js";
import { createLogger } from "../../../src/observability/log.js";
import { createSeriesRefill, type RefillSource } from "../../../src/service/refill.js";
import { idsPerShard } from "../../../store/journal/shard-ids.js";
import { StoreError } from "../../../store/lib/errors.js";
import { assert, suite } from "../../suite.js";

type Segment = RefillSource["journal"]["segments"][number];

const hour = 3_600_000;
const began = Date.UTC(2025, 0, 1);
const gap: LostPoints = { start: (began + 5 * hour) * 1000, stop: (began + 9 * hour) * 1000, series: null };

/** A journal with a segment of ten records that was begun at each of the hours. */
function sourceOf(shard: number, hours: readonly number[], refill: RefillSource["consumer"]["refill"]) {
  const base = shard * idsPerShard;
  const segments = hours.map((at, i) => ({
    firstID: base + i * 10 + 1,
    createdAt: began + at * hour,
  })) as Segment[];
  return { journal: { segments, committedID: base + hours.length * 10 }, consumer: { refill } };
}

suite("lost points are written again from the journals of all shards", (test) => {
  const quiet = createLogger(
    "error",
    () => undefined,
    () => began,
  );

  test("each segment that may hold some is read once from its own journal, the newest of all first", async () => {
    const read: [shard: number, afterID: number, endID: number][] = [];
    const refillOf = (shard: number) => async (_gap: LostPoints, afterID: number, endID: number) => {
      read.push([shard, afterID - shard * idsPerShard, endID - shard * idsPerShard]);
      return 1;
    };
    const refill = createSeriesRefill(quiet);
    const filled = refill.fill(gap);
    assert.equal(read, [], "no journal is there yet");
    // In the second journal the clock was set back after the segment of the ninth hour.
    refill.begin([
      sourceOf(0, [0, 2, 6, 10], refillOf(0)),
      sourceOf(8, [1, 3, 9, 7], refillOf(8)),
      sourceOf(9, [], refillOf(9)),
    ]);
    await filled;
    assert.equal(read, [
      [0, 30, 40],
      [8, 30, 40],
      [8, 20, 30],
      [0, 20, 30],
      [8, 10, 20],
      [0, 10, 20],
    ]);
  });

  test("a shard whose consumer is busy is asked again, and a gap waits for the last of all", async () => {
    let refused = 0;
    const asked: number[] = [];
    const refill = createSeriesRefill(quiet);
    refill.begin([
      sourceOf(0, [6], async () => {
        if (refused++ === 0) throw new StoreError("UNAVAILABLE", "cannot resettle: it runs already");
        asked.push(0);
        return 0;
      }),
      sourceOf(1, [5], async () => {
        asked.push(1);
        return 0;
      }),
    ]);
    await refill.fill(gap);
    assert.equal([refused, asked], [2, [0, 1]]);
  });

  test("a segment that retention takes meanwhile is passed over, and the end of the service ends it", async () => {
    const asked: number[] = [];
    const refill = createSeriesRefill(quiet);
    const source = sourceOf(0, [5, 6, 7], async (_gap, afterID) => {
      asked.push(afterID);
      (source.journal.segments as Segment[]).splice(0, 1);
      return 0;
    });
    refill.begin([source]);
    await refill.fill(gap);
    assert.equal(asked, [20, 10], "the oldest is gone");
    refill.stop();
    const late = await refill.fill(gap).then(
      () => "filled",
      () => "ended",
    );
    assert.is(late, "ended");
  });
});
