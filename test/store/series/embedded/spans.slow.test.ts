/** Files of points follow the data: what is sparse stays together, and what a series has is known without a look. */

import { readdirSync, readlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createClient } from "@libsql/client";
import fc from "fast-check";
import { earliestTime, latestTime } from "../../../../store/lib/time-range.js";
import { toMonth } from "../../../../store/series/embedded/months.js";
import { type LibsqlSeriesOptions, openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import { createSeriesSet, decodeSeriesSet } from "../../../../store/series/embedded/series-set.js";
import { placeFiles } from "../../../../store/series/embedded/spans.js";
import type { Point, SeriesRef, SeriesStore } from "../../../../store/series/series.js";
import { assert, suite, until, withTempDir } from "../../../suite.js";
import { monthFolderPoints, monthFolderRefs, writeMonthFolder } from "./month-folder.js";

const refOf = (deviceID: string, field = "n"): SeriesRef => ({
  tenant: 1,
  productID: "p",
  deviceID,
  field,
  kind: "number",
});
const pointsOf = (series: SeriesRef, pairs: Iterable<readonly [number, number]>): Point[] =>
  Array.from(pairs, ([time, value]) => ({ series, time, value, serverStamped: false }));
const pairsOf = async (store: SeriesStore, series: SeriesRef, range = {}): Promise<[number, number][]> => {
  const { times, values } = await store.read(series, range);
  return Array.from(times, (time, i) => [time, Number(values[i])]);
};
const monthTime = (months: number): number => Date.UTC(1690, months, 3) * 1000;
const dataFiles = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => /^points-.*\.db$/.test(name))
    .sort();
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
/** Descriptors of this process on files of the folder. */
const openIn = (dir: string): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir);
    } catch {
      return false;
    }
  }).length;
const sorted = (points: ReadonlyMap<number, number>): [number, number][] =>
  [...points].sort(([a], [b]) => a - b);

async function withStore(
  options: Partial<LibsqlSeriesOptions>,
  body: (store: SeriesStore, dir: string) => Promise<void>,
): Promise<void> {
  await withTempDir(async (dir) => {
    const store = await openLibsqlSeriesStore({ dir, ...options });
    try {
      await body(store, dir);
    } finally {
      await store.close();
    }
  });
}

async function rowsOf(dir: string, sql: string): Promise<unknown[][]> {
  const client = createClient({ url: `file:${join(dir, "catalog.db")}`, concurrency: 1 });
  try {
    const { rows } = await client.execute(sql);
    return rows.map((row) => Array.from({ length: row.length }, (_, i) => row[i]));
  } finally {
    client.close();
  }
}

suite("files of points", (test) => {
  test("3,000 months of one point share a file, and open no more", async () => {
    await withStore({}, async (store, dir) => {
      const [old, other] = [refOf("old"), refOf("other")];
      const recent = Array.from({ length: 500 }, (_, i) => [monthTime(4030) + i * 60e6, i] as const);
      await store.write(pointsOf(other, recent), 1);
      await store.flush();
      const pairs = Array.from({ length: 3000 }, (_, i): [number, number] => [monthTime(i), i]);
      await store.write(pointsOf(old, pairs), 2);
      await store.flush();
      assert.equal(await pairsOf(store, old), pairs);
      assert.equal(await pairsOf(store, other, { newest: 100 }), recent.slice(-100));
      assert.is(dataFiles(dir).length, 1);
      assert.ok(openIn(dir) < 30, `${openIn(dir)} descriptors`);
    });
  });

  test("a span is cut at a month that holds nothing yet, once its file holds enough", async () => {
    const options = { partBytesMin: 200_000 };
    await withStore(options, async (store, dir) => {
      const series = refOf("d");
      // A month has 8,000 points, 128,000 bytes.
      const month = (n: number) =>
        Array.from({ length: 8000 }, (_, i): [number, number] => [monthTime(n) + i * 60e6, i]);
      const all: [number, number][] = [];
      for (const n of [100, 101, 102, 103, 104, 105, 99, 98]) {
        const points = month(n);
        all.push(...points);
        await store.write(pointsOf(series, points), n);
        await store.flush();
      }
      // Two months fill a file; those before the first go before it.
      assert.equal(
        dataFiles(dir),
        ["points-1698-04.db", "points-1698-05.db", "points-1698-07.db", "points-1698-09.db"].sort(),
      );
      const parts = await rowsOf(dir, "select cast(start as real), stop from part order by start");
      for (const [i, [, stop]] of parts.entries()) {
        assert.is(stop, parts[i + 1]?.[0] ?? latestTime + 1, "spans leave no gap");
      }
      assert.is(parts[0]?.[0], earliestTime);
      assert.equal(await pairsOf(store, series), sorted(new Map(all)));
      // What comes into a month that a file holds goes there.
      await store.write(pointsOf(series, [[monthTime(101) + 1, 1]]), 200);
      await store.flush();
      assert.is(dataFiles(dir).length, 4);
    });
  });

  test("answers as a plain map does, wherever spans are cut, over restarts, removals and a lost catalog", async () => {
    const time = fc.oneof(
      fc.integer({ min: 0, max: 6800 }).map((n) => monthTime(n)),
      fc.integer({ min: 3990, max: 4020 }).map((n) => monthTime(n)),
      fc.integer({ min: 0, max: 4000 }).map((n) => monthTime(4000) + n * 3_600e6),
      fc.constantFrom(earliestTime, latestTime),
    );
    const from = fc.tuple(
      time,
      fc.integer({ min: 1, max: 400 }),
      fc.constantFrom(1, 60e6, 86_400e6, 31 * 86_400e6),
    );
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ series: fc.nat({ max: 2 }), from }) },
      { weight: 2, arbitrary: fc.constant("flush" as const) },
      { weight: 1, arbitrary: fc.constant("reopen" as const) },
      { weight: 1, arbitrary: fc.constant("lose" as const) },
      { weight: 1, arbitrary: fc.constant("remove" as const) },
    );
    const options = fc.record({
      partBytesMin: fc.constantFrom(0, 3_000, 30_000, 16 << 20),
      memtablePointsMax: fc.constantFrom(200, 5_000),
      readers: fc.constant(1),
    });
    await fc.assert(
      fc.asyncProperty(options, fc.array(step, { maxLength: 10 }), time, async (how, steps, edge) => {
        await withTempDir(async (dir) => {
          let store = await openLibsqlSeriesStore({ dir, ...how });
          const series = ["a", "b", "c"].map((deviceID) => refOf(deviceID));
          const model = series.map(() => new Map<number, number>());
          let n = 0;
          for (const one of steps) {
            if (one === "flush") await store.flush();
            else if (one === "reopen" || one === "lose") {
              await store.close();
              if (one === "lose") await rm(join(dir, "catalog.db"), { force: true });
              store = await openLibsqlSeriesStore({ dir, ...how });
            } else if (one === "remove") {
              await store.removeDevices([{ tenant: 1, productID: "p", deviceID: "c" }]);
              model[2]?.clear();
            } else {
              const [start, count, stepMicros] = one.from;
              const pairs = Array.from({ length: count }, (_, i): [number, number] => [
                start + i * stepMicros,
                ++n,
              ]);
              const kept = pairs.filter(([at]) => at <= latestTime);
              await store.write(pointsOf(series[one.series] as SeriesRef, kept), n);
              for (const [at, value] of kept) model[one.series]?.set(at, value);
            }
          }
          try {
            for (const [i, ref] of series.entries()) {
              const pairs = sorted(model[i] ?? new Map());
              assert.equal(await pairsOf(store, ref), pairs);
              assert.equal(await pairsOf(store, ref, { newest: 7 }), pairs.slice(-7));
              const behind = pairs.filter(([at]) => at >= edge);
              assert.equal(await pairsOf(store, ref, { start: edge, oldest: 5 }), behind.slice(0, 5));
              const before = pairs.filter(([at]) => at < edge);
              assert.equal(await pairsOf(store, ref, { stop: edge, newest: 3 }), before.slice(-3));
              const calendar = { unit: "year", timezone: "UTC" } as const;
              const query = { series: ref, edges: [edge, latestTime + 1], calendar } as const;
              const first = behind[0];
              assert.equal(await store.aggregate({ ...query, aggregate: "count" }), [behind.length || null]);
              assert.equal(await store.aggregate({ ...query, aggregate: "first" }), [first?.[1] ?? null]);
              // With one point after the edge, the increase is the difference to the one before, wherever that lies.
              if (first === undefined) continue;
              const one = { ...query, edges: [edge, first[0] + 1], aggregate: "increase" } as const;
              const last = before.at(-1)?.[1];
              const increase = last === undefined ? 0 : first[1] < last ? first[1] : first[1] - last;
              assert.equal(await store.aggregate(one), [increase]);
            }
            const newest = model.map((points) => sorted(points).at(-1));
            assert.equal(
              await store.latest(series),
              newest.map((found) => (found === undefined ? null : { time: found[0], value: found[1] })),
            );
          } finally {
            await store.close();
          }
        });
      }),
      { numRuns: 12, endOnFailure: true },
    );
  });

  test("a folder of a file a month is read on, learnt, written on and cut as before", async () => {
    await withTempDir(async (dir) => {
      await writeMonthFolder(dir);
      const [number] = monthFolderRefs;
      const model = new Map(monthFolderPoints(number) as [number, number][]);
      for (const time of [1684, 1800, 1970, 2010, 2024, 2040].map((year) => Date.UTC(year, 7, 9) * 1000)) {
        const store = await openLibsqlSeriesStore({ dir, readers: 1, partBytesMin: 0 });
        for (const series of monthFolderRefs.slice(1)) {
          const { times, values } = await store.read(series, {});
          assert.equal(
            Array.from(times, (at, i) => [at, values[i]]),
            monthFolderPoints(series),
          );
        }
        assert.equal(await pairsOf(store, number), sorted(model));
        model.set(time, 5);
        await store.write(pointsOf(number, [[time, 5]]), time / 1e6 + 1e11);
        await store.flush();
        assert.equal(await pairsOf(store, number), sorted(model));
        await store.close();
      }
      // The removed device's points are swept, and each file is looked through, after the first answers.
      const store = await openLibsqlSeriesStore({ dir, readers: 1 });
      const unknown = () => rowsOf(dir, "select count(*) from part where held is null");
      await until(async () => (await unknown())[0]?.[0] === 0, {
        what: "all files known",
        timeoutMs: 60_000,
      });
      assert.equal(await pairsOf(store, number), sorted(model));
      await store.close();
      const client = createClient({ url: `file:${join(dir, "points-1969-12.db")}`, concurrency: 1 });
      const ids = await client.execute("select distinct series from chunk order by series");
      client.close();
      const [row] = await rowsOf(dir, "select held from part where path = 'points-1969-12.db'");
      const held = decodeSeriesSet(row?.[0] as ArrayBuffer);
      assert.ok(held !== null && ids.rows.every((one) => held.has(Number(one[0]))));
      assert.not(held?.has(999));
    });
  });

  test("who has nothing in a file is answered without it", async () => {
    await withTempDir(async (dir) => {
      const first = await openLibsqlSeriesStore({ dir, partBytesMin: 0 });
      const [wide, narrow] = [refOf("wide"), refOf("narrow")];
      const months = Array.from({ length: 44 }, (_, i): [number, number] => [monthTime(i), i]);
      await first.write(pointsOf(wide, months), 1);
      await first.write(pointsOf(narrow, [[monthTime(5) + 1, 1]]), 2);
      await first.close();
      assert.is(dataFiles(dir).length, 44);
      const second = await openLibsqlSeriesStore({ dir });
      const loose = () => rowsOf(dir, "select count(*) from part where loose > 0 and stop < 8e15");
      await until(async () => (await loose())[0]?.[0] === 0, {
        what: "files that nobody works on",
        timeoutMs: 60_000,
      });
      await second.close();
      const store = await openLibsqlSeriesStore({ dir, readers: 1 });
      const before = openIn(dir);
      assert.equal(await pairsOf(store, narrow, { newest: 100 }), [[monthTime(5) + 1, 1]]);
      assert.equal(await store.latest([narrow]), [{ time: monthTime(5) + 1, value: 1 }]);
      assert.ok(openIn(dir) - before <= 3, `${openIn(dir) - before} descriptors more`);
      assert.equal(await pairsOf(store, wide), months);
      // 40 connections of three descriptors are meant, and 8 of each of two threads that are closing; then the catalog.
      assert.ok(openIn(dir) <= 3 * (40 + 2 * 8) + 24, `${openIn(dir)} descriptors`);
      await store.close();
      // This thread's statements on the catalog are released when they are collected.
      await until(
        () => {
          collect();
          return openIn(dir) === 0;
        },
        { what: "every file to be closed" },
      );
    });
  });

  test("retention takes whole files, trims the one that reaches over it, and later points find a place", async () => {
    await withStore({ partBytesMin: 0, readers: 1 }, async (store, dir) => {
      const series = refOf("d");
      const pairs = Array.from({ length: 40 }, (_, i): [number, number] => [monthTime(i), i]);
      await store.write(pointsOf(series, pairs), 1);
      await store.flush();
      await store.removeBefore(monthTime(20) + 1);
      assert.equal(await pairsOf(store, series), pairs.slice(21));
      assert.is(dataFiles(dir).length, 20);
      await store.write(pointsOf(series, [pairs[3] as [number, number], pairs[20] as [number, number]]), 2);
      await store.flush();
      const left = [pairs[3] as [number, number], ...pairs.slice(20)];
      assert.equal(await pairsOf(store, series), left);
      await store.close();
      const again = await openLibsqlSeriesStore({ dir, readers: 1 });
      assert.equal(await pairsOf(again, series), left);
      await again.close();
    });
  });
});

suite("series of a file", (test) => {
  test("are a set that comes back from its bytes, and never from others", () => {
    const ids = fc.array(fc.oneof(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max: 500_000 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 5 }), fc.nat(), (groups, flip) => {
        const held = createSeriesSet();
        const model = new Set<number>();
        for (const group of groups) {
          assert.is(
            held.add(group),
            group.some((id) => !model.has(id)),
          );
          for (const id of group) model.add(id);
        }
        const bytes = held.encode();
        const again = decodeSeriesSet(Uint8Array.from(bytes).buffer);
        for (let id = 0; id < 100; id++) assert.is(again?.has(id), model.has(id));
        for (const id of model) assert.ok(again?.has(id) === true && held.has(id));
        assert.not(again?.add([...model]));
        const damaged = Uint8Array.from(bytes);
        damaged[flip % damaged.length] = (damaged[flip % damaged.length] ?? 0) ^ 4;
        assert.is(decodeSeriesSet(damaged.buffer), null);
      }),
    );
  });
});

suite("spans of files found in a folder", (test) => {
  const day = 86_400e6;
  const file = (path: string, low: number, high: number, rest = {}) => ({
    path,
    generation: 1,
    held: { low, high },
    ...rest,
  });

  test("leave no gap and each hold what their file holds", () => {
    const lengths = fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 40 })), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(lengths, (months) => {
        let at = 0;
        const files = months.map(([gap, length], i) => {
          const low = monthTime(at + gap);
          at += gap + length;
          return file(`points-${i}.db`, low, monthTime(at) + day);
        });
        const { placed, unplaced } = placeFiles(files.toReversed());
        assert.equal(unplaced, []);
        assert.equal(
          placed.map(({ path }) => path),
          files.map(({ path }) => path),
        );
        for (const [i, { start, stop, held }] of placed.entries()) {
          assert.ok(held !== null && start <= held.low && held.high < stop);
          assert.is(stop, placed[i + 1]?.start ?? latestTime + 1);
          if (i > 0) assert.is(start, toMonth(start).start);
        }
        assert.is(placed[0]?.start, earliestTime);
      }),
    );
  });

  test("a later generation and what can be read go before what holds the same times; empty files have none", () => {
    const low = monthTime(10);
    const { placed, unplaced } = placeFiles([
      file("old", low, low + day),
      file("new", low, low + 2 * day, { generation: 2 }),
      file("broken", 0, 0, { held: toMonth(low), generation: 3 }),
      file("alone", 0, 0, { held: toMonth(monthTime(20)) }),
      file("empty", 0, 0, { held: null }),
    ]);
    assert.equal(
      placed.map(({ path }) => path),
      ["new", "alone"],
    );
    assert.equal(
      unplaced.map(({ path }) => path),
      ["old", "broken"],
    );
  });

  test("what cannot be read stands for all that its neighbours do not hold", () => {
    const unknown = (path: string, n: number) => file(path, 0, 0, { held: toMonth(monthTime(n)) });
    const { placed, unplaced } = placeFiles([
      unknown("first", 2),
      file("a", monthTime(10), monthTime(12) + day),
      unknown("b", 20),
      unknown("c", 30),
      unknown("c again", 30),
      file("d", monthTime(40), monthTime(41)),
      unknown("last", 50),
    ]);
    const month = (n: number) => toMonth(monthTime(n)).start;
    assert.equal(
      placed.map(({ path, start, stop, held }) => [path, start, stop, held === null]),
      [
        ["first", earliestTime, month(10), true],
        ["a", month(10), month(13), false],
        ["b", month(13), month(30), true],
        ["c", month(30), month(40), true],
        ["d", month(40), month(42), false],
        ["last", month(42), latestTime + 1, true],
      ],
    );
    assert.equal(
      unplaced.map(({ path }) => path),
      ["c again"],
    );
  });
});
