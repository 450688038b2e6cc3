import { readLatestBefore } from "../../query/points.js";
import type { Columns, ReadRange, SeriesRef, SeriesStore } from "../../store/series/series.js";
import { assert, suite } from "../suite.js";

const ref: SeriesRef = { tenant: 1, productID: "p", deviceID: "d", field: "n", kind: "number" };

/** A series with a point at every whole second of [0, seconds), whose value is that second; counts what is read. */
function everySecond(seconds: number) {
  const read = { points: 0, questions: 0 };
  const store = {
    read: async (
      _series: SeriesRef,
      { start = 0, stop = Infinity, newest, oldest }: ReadRange,
    ): Promise<Columns> => {
      let from = Math.max(0, Math.ceil(start / 1e6));
      let to = Math.max(from, Math.min(seconds, Math.ceil(stop / 1e6)));
      if (newest !== undefined) from = Math.max(from, to - newest);
      if (oldest !== undefined) to = Math.min(to, from + oldest);
      read.points += to - from;
      read.questions++;
      const values = Float64Array.from({ length: to - from }, (_, i) => from + i);
      return { kind: "number", times: values.map((value) => value * 1e6), values };
    },
  } as unknown as SeriesStore;
  return { store, read };
}

suite("the newest value before a time", (test) => {
  const join = async (times: readonly number[], seconds: number) => {
    const { store, read } = everySecond(seconds);
    const values = await readLatestBefore(store, ref, Float64Array.from(times));
    assert.equal(
      [...values],
      times.map((time) => (time < 0 ? Number.NaN : Math.min(seconds - 1, Math.floor(time / 1e6)))),
    );
    return read;
  };

  test("sparse points read little of a dense series, dense ones all of it in few questions", async () => {
    const billion = 1e9;
    const sparse = Array.from({ length: 320 }, (_, i) => i * 3e12 + (i % 3));
    const few = await join(sparse, billion);
    assert.ok(few.points <= 22 * 100_000, `${few.points} points`);
    const dense = await join(
      Array.from({ length: 200_000 }, (_, i) => i * 5e6),
      1e6,
    );
    assert.ok(dense.questions <= 12, `${dense.questions} questions`);
    const mixed = [...sparse.slice(0, 40), ...Array.from({ length: 50_000 }, (_, i) => 120e12 + i * 1e6)];
    const both = await join(mixed, billion);
    assert.ok(both.points <= 600_000 && both.questions < 70, JSON.stringify(both));
  });

  test("before the first, after the last, none", async () => {
    await join([-5, -1, 0, 1, 5e11, 9e12], 400_000);
    await join([-5, -1], 400_000);
    await join([], 10);
  });
});
