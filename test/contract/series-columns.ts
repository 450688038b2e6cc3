/** The contract of writing and reading columns: what imports and exports go through. */

import { StoreError } from "../../store/lib/errors.js";
import type { Columns, SeriesPointBatch, SeriesRef, SeriesStore } from "../../store/series/series.js";
import { assert, rejects, type Test } from "../suite.js";
import { newDevice, newSeries, nextID, pointsOf } from "./series.js";
import { pairsOf } from "./series-oracle.js";

const base = Date.UTC(2025, 2, 1) * 1000;
const minute = 60_000_000;

/** Rows of [place of the series, time, value]; booleans as 1 and 0. */
export function batchOf(
  series: readonly SeriesRef[],
  ...rows: readonly (readonly [number, number, number | string])[]
): SeriesPointBatch {
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

/** Queries of several series of a device, and queries of a caller that leaves. */
function defineAskers(test: Test, use: () => Promise<SeriesStore>): void {
  test("the newest points of many series of a device are those of each alone, whatever kind and stretch", async () => {
    const store = await use();
    const deviceID = newDevice();
    const day = 1440 * minute;
    const kinds = ["number", "boolean", "text"] as const;
    const series = Array.from({ length: 24 }, (_, n) =>
      newSeries(kinds[n % 3] ?? "number", deviceID, `field.${n}`),
    );
    for (const [n, one] of series.entries()) {
      // Some end long before the others, some hold little, some nothing.
      const count = n % 5 === 4 ? 0 : 3 + ((n * 37) % 90);
      const step = n % 4 === 0 ? day : minute / 7;
      const value = (i: number) =>
        one.kind === "text" ? `${n}, "${i}"` : one.kind === "boolean" ? i % 3 === 0 : i;
      const times = Array.from({ length: count }, (_, i) => base - (n % 3) * 90 * day + Math.floor(i * step));
      await store.write(
        pointsOf(
          one,
          ...times.map((time, i) => [time, value(i)] as const).map(([t, v]): [number, typeof v] => [t, v]),
        ),
        nextID(),
      );
    }
    const ranges = [
      {},
      { start: base },
      { stop: base + 5 * minute },
      { stop: base },
      { start: base - 100 * day, stop: base + 10 * day },
      { start: base + day, stop: base + day },
    ];
    for (const range of ranges) {
      const alone = await Promise.all(series.map((one) => store.read(one, { ...range, newest: 1000 })));
      for (const newest of [0, 1, 2, 40, 1000]) {
        const found = await store.readNewest(series, range, newest);
        for (const [n, one] of alone.entries()) {
          const together = found[n];
          assert.ok(together !== undefined && "times" in together);
          assert.equal(
            [together.kind, pairsOf(together)],
            [one.kind, newest === 0 ? [] : pairsOf(one).slice(-newest)],
            JSON.stringify({ n, range, newest }),
          );
        }
      }
    }
    assert.equal(await store.readNewest([], {}, 5), []);
  });

  test("the newest point in the last microsecond of an hour is one among those before it, and read once", async () => {
    const store = await use();
    const deviceID = newDevice();
    const stop = base + 60 * minute;
    assert.is(stop % (60 * minute), 0, "a whole hour");
    const series = (["number", "text", "boolean"] as const).flatMap((kind) =>
      Array.from({ length: 4 }, (_, n) => newSeries(kind, deviceID, `${kind}.${n}`)),
    );
    const sample = ({ kind }: SeriesRef, i: number) =>
      kind === "text" ? `${i}` : kind === "boolean" ? i % 2 === 0 : i;
    // Each kind gets: both, the last microsecond alone, one before it alone, and one after the range as well.
    const times = [
      [stop - 30 * minute, stop - 1],
      [stop - 1],
      [stop - 2],
      [stop - 30 * minute, stop - 1, stop, stop + 1],
    ];
    for (const [n, one] of series.entries()) {
      const own = times[n % 4] ?? [];
      await store.write(
        pointsOf(one, ...own.map((time, i): [number, ReturnType<typeof sample>] => [time, sample(one, i)])),
        nextID(),
      );
    }
    for (const newest of [1, 2, 100]) {
      for (const range of [{ stop }, { start: base, stop }, { start: stop - 2, stop }]) {
        const found = await store.readNewest(series, range, newest);
        for (const [n, one] of series.entries()) {
          const together = found[n];
          assert.ok(together !== undefined && "times" in together);
          const told = JSON.stringify({ field: one.field, newest, range });
          const held = (times[n % 4] ?? []).filter(
            (time) => time < stop && time >= ("start" in range ? range.start : 0),
          );
          assert.equal([...together.times], held.slice(-newest), told);
          assert.equal(pairsOf(together), pairsOf(await store.read(one, { ...range, newest })), told);
        }
      }
    }
  });

  test("a reader that leaves causes no more queries, and nobody else notices", async () => {
    const store = await use();
    const series = newSeries();
    const pairs = Array.from({ length: 500 }, (_, i): [number, number] => [base + i * minute, i]);
    await store.write(pointsOf(series, ...pairs), nextID());
    await store.flush();
    const leaver = new AbortController();
    const asked = store.under(leaver.signal);
    const scan = asked.scan(series, {}, 100);
    assert.equal(pairsOf(await asked.read(series, { newest: 2 })), pairs.slice(-2));
    assert.is((await scan.next()).done, false);
    leaver.abort();
    const calendar = { unit: "hour", timezone: "UTC" } as const;
    const edges = [base, base + 60 * minute];
    const query = { series, edges, calendar, aggregate: "mean" } as const;
    const questions = [
      () => asked.read(series, {}),
      () => asked.readNewest([series], {}, 5),
      () => scan.next(),
      () => asked.aggregate(query),
      () => asked.aggregate({ ...query, aggregate: "increase" }),
      () => asked.aggregateArithmetic({ ...query, arithmetic: { kind: "value" } }),
      () => asked.extremes({ series, start: base, stop: base + 60 * minute, width: minute, exactMax: 0 }),
      () => asked.latest([series]),
    ];
    for (const question of questions) {
      const error = await rejects(async () => void (await question()), /left/);
      assert.is(error instanceof StoreError && error.code, "UNAVAILABLE");
    }
    const late = store.under(leaver.signal);
    await rejects(async () => void (await late.read(series, {})), /left/);
    assert.equal(pairsOf(await store.read(series, {})), pairs);
  });
}

export function defineColumns(test: Test, use: () => Promise<SeriesStore>): void {
  defineAskers(test, use);
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

  test("the last of several rows with one time stays, whatever lies between, before 1970 too", async () => {
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
    // The same again, as a caller does that got no answer.
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
