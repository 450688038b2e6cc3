/** The contract of texts: one read is bounded by bytes, and a reader that goes on from there misses nothing. */

import { textBytes, textsBytes } from "../../store/lib/text-bytes.js";
import type { Columns, ReadRange, SeriesRef, SeriesStore } from "../../store/series/series.js";
import { assert, type Test } from "../suite.js";
import { newDevice, newSeries, nextID, pointsOf } from "./series.js";
import { createOracle, pairsOf } from "./series-oracle.js";

const base = Date.UTC(2025, 2, 1) * 1000;
const second = 1_000_000;
const longest = 50_000;
const bytesMax = 400_000;

/** Bytes of a read: what was asked for, and one text that goes beyond. */
const heldMost = bytesMax + textBytes("x".repeat(longest));

const sample = (i: number): string => `${i} `.padEnd(i % 7 === 0 ? longest : (i * 379) % 9000, "x");

/** Texts that were written in order, anew, late, and in between: some in files, some in memory. */
async function written(store: SeriesStore, deviceID: string) {
  const series = newSeries("text", deviceID);
  const oracle = createOracle();
  const put = async (from: number, to: number, step: number, shift: number) => {
    for (let at = from; at < to; at += 40 * step) {
      const rows: [number, string][] = [];
      for (let i = at; i < Math.min(to, at + 40 * step); i += step)
        rows.push([base + i * second, sample(i + shift)]);
      const points = pointsOf(series, ...rows);
      await store.write(points, nextID());
      oracle.write(points);
    }
  };
  await put(100, 400, 1, 0);
  await store.flush();
  await put(0, 300, 3, 1);
  await store.flush();
  await put(150, 450, 4, 2);
  return { series, all: oracle.read(series, {}) };
}

const bytesOf = (columns: Columns): number => (columns.kind === "text" ? textsBytes(columns.values) : 0);
const isCut = (columns: Columns): boolean => columns.kind === "text" && columns.cut === true;

export function defineTexts(test: Test, use: () => Promise<SeriesStore>): void {
  test("texts are read by bytes from either end, and going on from there misses none", async () => {
    const store = await use();
    const { series, all } = await written(store, newDevice());
    const read = (range: ReadRange) => store.read(series, { ...range, bytesMax });
    // One by one means hundreds of queries: they cover one end, where rewritten and late texts lie among others.
    for (const [wanted, most] of [
      [1, 120],
      [30, all.length],
      [1000, all.length],
    ] as const) {
      const backward: [number, number | string][] = [];
      for (let range: ReadRange = { newest: wanted }; wanted > 1 || backward.length < most; ) {
        const found = await read(range);
        if (found.times.length === 0) break;
        backward.unshift(...pairsOf(found));
        checkPiece(found, wanted);
        range = { newest: wanted, stop: found.times[0] ?? 0 };
      }
      assert.equal(backward, all.slice(-most), `backward by ${wanted}`);
      const forward: [number, number | string][] = [];
      for (let range: ReadRange = { oldest: wanted }; wanted > 1 || forward.length < most; ) {
        const found = await read(range);
        if (found.times.length === 0) break;
        forward.push(...pairsOf(found));
        checkPiece(found, wanted);
        range = { oldest: wanted, start: (found.times.at(-1) ?? 0) + 1 };
      }
      assert.equal(forward, all.slice(0, most), `forward by ${wanted}`);
    }
    assert.ok((await read({ newest: 1000 })).times.length > 10, "not one by one");
    assert.equal(pairsOf(await store.read(series, { newest: 1000 })), all, "without a bound all");
    const one = await store.read(series, { newest: 5, bytesMax: 1 });
    assert.equal(
      [pairsOf(one), isCut(one)],
      [all.slice(-1), true],
      "one that is longer than the bound is read",
    );
  });

  test("the newest texts of many series are bounded each, and say that there is more", async () => {
    const store = await use();
    const deviceID = newDevice();
    const { series, all } = await written(store, deviceID);
    const short = newSeries("text", deviceID, "short");
    const number = newSeries("number", deviceID);
    const rows = Array.from({ length: 600 }, (_, i) => [base + i * second, i] as [number, number]);
    await store.write(pointsOf(number, ...rows), nextID());
    const shorts = rows.map(([time, value]): [number, string] => [time, `${value}`]);
    await store.write(pointsOf(short, ...shorts), nextID());
    const asked: readonly SeriesRef[] = [series, number, short];
    for (const wanted of [1, 40, 500]) {
      const [long, numbers, texts] = (await store.readNewest(asked, { bytesMax }, wanted)) as [
        Columns,
        Columns,
        Columns,
      ];
      assert.equal(pairsOf(numbers), rows.slice(-wanted), "numbers are not bounded by bytes");
      assert.equal([pairsOf(texts), isCut(texts)], [shorts.slice(-wanted), false], "short texts fit");
      checkPiece(long, wanted);
      assert.equal(pairsOf(long), all.slice(-long.times.length));
      assert.is(isCut(long), long.times.length < Math.min(wanted, all.length));
    }
  });

  test("a scan of texts gives pieces of bounded bytes", async () => {
    const store = await use();
    const { series, all } = await written(store, newDevice());
    const found: [number, number | string][] = [];
    for await (const piece of store.scan(series, { bytesMax }, 10_000)) {
      checkPiece(piece, 20_000);
      found.push(...pairsOf(piece));
    }
    assert.equal(found, all);
    const within = { start: all[50]?.[0] ?? 0, stop: all[220]?.[0] ?? 0, bytesMax };
    const some: [number, number | string][] = [];
    for await (const piece of store.scan(series, within, 10_000)) some.push(...pairsOf(piece));
    assert.equal(some, all.slice(50, 220));
  });
}

function checkPiece(piece: Columns, wanted: number): void {
  assert.ok(piece.times.length > 0 && piece.times.length <= wanted, `${piece.times.length} points`);
  assert.ok(bytesOf(piece) <= heldMost, `${bytesOf(piece)} bytes`);
}
