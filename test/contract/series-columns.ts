/** The contract of writing and reading columns: what imports and exports go through. */
import type { Columns, PointBatch, SeriesRef, SeriesStore } from "../../store/series.js";
import { assert, type Test } from "../suite.js";
import { newDevice, newSeries, nextID, pointsOf } from "./series.js";
import { pairsOf } from "./series-oracle.js";

const base = Date.UTC(2025, 2, 1) * 1000;
const minute = 60_000_000;

/** Rows of [place of the series, time, value]; booleans as 1 and 0. */
export function batchOf(
  series: readonly SeriesRef[],
  ...rows: readonly (readonly [number, number, number | string])[]
): PointBatch {
  const texts: string[] = [];
  const values = rows.map(([, , value]) => (typeof value === "string" ? texts.push(value) - 1 : value));
  return {
    series,
    seriesAt: Int32Array.from(rows, ([at]) => at),
    times: Float64Array.from(rows, ([, time]) => time),
    values: Float64Array.from(values),
    texts,
  };
}

/** Every piece of a scan. */
export async function piecesOf(
  store: SeriesStore,
  series: SeriesRef,
  range: { start?: number; stop?: number },
  pointsMax: number,
): Promise<Columns[]> {
  const pieces: Columns[] = [];
  for await (const piece of store.scan(series, range, pointsMax)) {
    // As an export does: the piece goes to another thread.
    const transfer = [...new Set([piece.times, ...(piece.kind === "text" ? [] : [piece.values])])];
    pieces.push(
      structuredClone(piece, { transfer: [...new Set(transfer.map(({ buffer }) => buffer as ArrayBuffer))] }),
    );
  }
  return pieces;
}

export function defineColumns(test: Test, use: () => Promise<SeriesStore>): void {
  test("a batch of columns reads back whole, of every kind, and later rows of a time win", async () => {
    const store = await use();
    const device = newDevice();
    const all = (["number", "boolean", "text"] as const).map((kind) => newSeries(kind, device));
    const [number, flag, text] = all as [SeriesRef, SeriesRef, SeriesRef];
    const rows = batchOf(
      all,
      ...([
        [0, base, 1.5],
        [1, base, 1],
        [2, base, 'a "b"\r\n'],
        [0, base - 40 * 1440 * minute, -0],
        [0, base, 2.5],
        [1, base + 1, 0],
        [2, base + 1, ""],
        [0, base + 1, 0.1 + 0.2],
      ] as const),
    );
    assert.equal(await store.writeBatch(rows), []);
    const numbers = await store.read(number, {});
    assert.equal(pairsOf(numbers), [
      [base - 40 * 1440 * minute, -0],
      [base, 2.5],
      [base + 1, 0.1 + 0.2],
    ]);
    assert.ok(Object.is(numbers.values[0], -0));
    assert.equal(pairsOf(await store.read(flag, {})), [
      [base, 1],
      [base + 1, 0],
    ]);
    assert.equal(pairsOf(await store.read(text, {})), [
      [base, 'a "b"\r\n'],
      [base + 1, ""],
    ]);
  });

  test("what the engine cannot hold is refused by its place, the rest is stored", async () => {
    const store = await use();
    const series = newSeries();
    const refused = await store.writeBatch(
      batchOf([series], [0, base, 1], [0, base + 1, Number.NaN], [0, base + 0.5, 3], [0, base + 2, 4]),
    );
    assert.equal(
      refused.map(({ index }) => index),
      [1, 2],
    );
    assert.equal(pairsOf(await store.read(series, {})), [
      [base, 1],
      [base + 2, 4],
    ]);
  });

  test("of rows that fall together the last stays, whatever lies between, before 1970 too", async () => {
    const store = await use();
    const device = newDevice();
    const all = [newSeries("number", device), newSeries("number", device, "other"), newSeries("text")];
    const places = [-minute - 1, -1, 0, 1, 999, 1000, base, base + 1, base + 999, base + minute];
    const expected = all.map(() => new Map<number, number | string>());
    const rows = Array.from({ length: 3000 }, (_, i) => {
      // Scattered, always the same: every series meets every time, next to one another and far apart.
      const scattered = Math.imul(i + 1, 0x9e3779b1) >>> 0;
      const series = (scattered >>> 4) % 3;
      const time = places[(scattered >>> 12) % places.length] ?? 0;
      const value = series === 2 ? `text ${i}` : i / 8;
      expected[series]?.set(time, value);
      return [series, time, value] as const;
    });
    assert.equal(await store.writeBatch(batchOf(all, ...rows)), []);
    for (const [i, series] of all.entries()) {
      const sorted = [...(expected[i] ?? [])].sort(([a], [b]) => a - b);
      assert.is(sorted.length, places.length);
      assert.equal(pairsOf(await store.read(series, {})), sorted, `series ${i}`);
    }
    // The same once more, as a caller does who got no answer.
    assert.equal(await store.writeBatch(batchOf(all, ...rows)), []);
    assert.is((await store.read(all[0] as SeriesRef, {})).times.length, expected[0]?.size);
  });

  test("a batch leaves the checkpoint where it is", async () => {
    const store = await use();
    await store.flush();
    const before = await store.checkpoint();
    await store.writeBatch(batchOf([newSeries()], [0, base, 1]));
    await store.flush();
    assert.is(await store.checkpoint(), before);
  });

  test("a scan gives the points of the range in small ascending pieces, over gaps of years", async () => {
    const store = await use();
    const series = newSeries();
    const days = [0, 1, 2, 400, 800, 801].map((day) => base + day * 1440 * minute);
    const times = days.flatMap((day) => Array.from({ length: 50 }, (_, i) => day + i * minute));
    await store.writeBatch(batchOf([series], ...times.map((time, i) => [0, time, i] as const)));
    await store.flush();
    await store.write(pointsOf(series, [times[3] ?? 0, -3], [base - 1, -1]), nextID());
    const expected = [[base - 1, -1], ...times.map((time, i) => [time, i === 3 ? -3 : i])];
    for (const pointsMax of [1, 7, 40, 1000]) {
      const pieces = await piecesOf(store, series, {}, pointsMax);
      assert.equal(pieces.flatMap(pairsOf), expected, `${pointsMax}`);
      assert.ok(
        pieces.every((piece) => piece.times.length > 0 && piece.times.length <= pointsMax * 2),
        `${pointsMax}: ${pieces.map((piece) => piece.times.length)}`,
      );
    }
    const within = { start: times[2] ?? 0, stop: times[120] ?? 0 };
    assert.equal((await piecesOf(store, series, within, 30)).flatMap(pairsOf), expected.slice(3, 121));
    assert.equal(await piecesOf(store, newSeries(), {}, 30), []);
    assert.equal(await piecesOf(store, series, { start: base, stop: base }, 30), []);
  });
}
