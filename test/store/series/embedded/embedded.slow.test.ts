import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import fc from "fast-check";
import { StoreError } from "../../../../store/lib/errors.js";
import { type LibsqlSeriesOptions, openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import type {
  Aggregate,
  Columns,
  Kind,
  Point,
  SeriesRef,
  SeriesStore,
} from "../../../../store/series/series.js";
import { assert, rejects, suite, until, withTempDir } from "../../../suite.js";
import { monthFolderPoints, monthFolderRefs, writeMonthFolder } from "./month-folder.js";

const JANUARY = Date.UTC(2024, 0, 31, 23, 59) * 1000;
const FEBRUARY = Date.UTC(2024, 1, 1) * 1000;
const SECOND = 1_000_000;
/** A file a month, and a flush every 50 points. */
const SMALL = { memtablePointsMax: 50, readers: 1, partBytesMin: 0 };

const ref = (deviceID: string, field: string, kind: Kind = "number"): SeriesRef => ({
  tenant: 1,
  productID: "pump",
  deviceID,
  field,
  kind,
});
const TEMP = ref("a", "temp");
const NOTE = ref("a", "note", "text");

const point = (series: SeriesRef, time: number, value: Point["value"]): Point => ({
  series,
  time,
  value,
  serverStamped: false,
});
const entries = (columns: Columns): unknown[] =>
  Array.from(columns.times, (time, i) => [time, columns.values[i]]);

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

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return error instanceof StoreError ? error.code : String(error);
  }
}

suite("embedded series store", (test) => {
  const time = fc.oneof(
    fc.integer({ min: 0, max: 40 }).map((n) => JANUARY + n * 5 * SECOND),
    fc.integer({ min: 0, max: 3 }).map((n) => FEBRUARY + n * 40 * 86_400 * SECOND),
  );
  const write = fc.array(fc.tuple(fc.nat({ max: 2 }), time, fc.integer({ min: -99, max: 99 })), {
    minLength: 1,
    maxLength: 60,
  });
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ write }) },
    { weight: 1, arbitrary: fc.constant("flush" as const) },
    { weight: 1, arbitrary: fc.constant("reopen" as const) },
    { weight: 1, arbitrary: fc.constant("remove" as const) },
  );

  test("answers as a plain map does, whatever is in memory, in files or removed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), time, async (steps, start) => {
        await withTempDir(async (dir) => {
          let store = await openLibsqlSeriesStore({ dir, ...SMALL });
          const series = [TEMP, ref("a", "state", "boolean"), ref("b", "temp")];
          const model = series.map(() => new Map<number, number>());
          let through = 0;
          for (const now of steps) {
            if (now === "flush") await store.flush();
            else if (now === "reopen") {
              await store.close();
              store = await openLibsqlSeriesStore({ dir, ...SMALL });
            } else if (now === "remove") {
              await store.removeDevices([{ tenant: 1, productID: "pump", deviceID: "b" }]);
              model[2]?.clear();
            } else {
              const points = now.write.map(([which, at, n]) => {
                const value = which === 1 ? n > 0 : n;
                model[which]?.set(at, Number(value));
                return point(series[which] ?? TEMP, at, value);
              });
              await store.write(points, ++through);
            }
            await compare(store, series, model, start);
          }
          await store.close();
        });
      }),
      { numRuns: 12, endOnFailure: true },
    );
  });

  async function compare(
    store: SeriesStore,
    series: SeriesRef[],
    model: Map<number, number>[],
    start: number,
  ): Promise<void> {
    const latest = await store.latest(series);
    for (const [i, one] of series.entries()) {
      const all = [...(model[i] ?? [])].sort(([a], [b]) => a - b);
      const after = all.filter(([at]) => at >= start);
      const before = all.filter(([at]) => at < start);
      assert.equal(entries(await store.read(one, {})), all);
      assert.equal(entries(await store.read(one, { start })), after);
      assert.equal(entries(await store.read(one, { stop: start, newest: 3 })), before.slice(-3));
      assert.equal(entries(await store.read(one, { start, oldest: 3 })), after.slice(0, 3));
      const [lastTime, lastValue] = all.at(-1) ?? [];
      assert.equal(latest[i], lastTime === undefined ? null : { time: lastTime, value: lastValue });
      const edges = [start, start + 60 * SECOND, start + 200 * 86_400 * SECOND];
      const ask = (aggregate: Aggregate) =>
        store.aggregate({ series: one, edges, aggregate, calendar: { unit: "minute", timezone: "UTC" } });
      const windows = [0, 1].map((w) =>
        after.filter(([at]) => at >= (edges[w] ?? 0) && at < (edges[w + 1] ?? 0)).map(([, value]) => value),
      );
      assert.equal(
        await ask("count"),
        windows.map((values) => values.length || null),
      );
      assert.equal(
        await ask("sum"),
        windows.map((values) => (values.length > 0 ? values.reduce((a, b) => a + b) : null)),
      );
      let previous = before.at(-1)?.[1];
      const increases = windows.map((values) =>
        values.reduce<number | null>((total, value) => {
          const from = previous ?? value;
          previous = value;
          return (total ?? 0) + (value < from ? value : value - from);
        }, null),
      );
      assert.equal(await ask("increase"), increases);
    }
  }

  test("keeps text with NUL, mends half a surrogate pair, refuses what no engine holds", async () => {
    await withStore({}, async (store) => {
      const bad = [
        point(TEMP, 1.5, 1),
        point(TEMP, 1, Number.NaN),
        point(NOTE, 1, 7),
        point(ref("a\0", "x"), 1, 1),
        point(ref("a", "\ud800"), 1, 1),
      ];
      const good = [point(NOTE, 1, "a\0b"), point(NOTE, 2, "x\ud800y"), point(NOTE, 3, "温度 🌡")];
      const refused = await store.write([...bad, ...good], 1);
      assert.equal(
        refused.map((one) => one.point),
        bad,
      );
      for (let round = 0; round < 2; round++) {
        assert.equal(entries(await store.read(NOTE, {})), [
          [1, "a\0b"],
          [2, "x\uFFFDy"],
          [3, "温度 🌡"],
        ]);
        assert.equal(await store.latest([NOTE, TEMP]), [{ time: 3, value: "温度 🌡" }, null]);
        await store.flush();
      }
    });
  });

  test("a removed device is covered by the checkpoint, and its name can begin anew", async () => {
    await withTempDir(async (dir) => {
      const first = await openLibsqlSeriesStore({ dir, readers: 1 });
      await first.write([point(TEMP, 1, 1)], 5);
      await first.removeDevices([{ tenant: 1, productID: "pump", deviceID: "a" }]);
      assert.is(await first.checkpoint(), 5);
      await first.write([point(TEMP, 9, 9)], 6);
      assert.equal(entries(await first.read(TEMP, {})), [[9, 9]]);
      await first.close();
      const store = await openLibsqlSeriesStore({ dir, readers: 1 });
      assert.equal(entries(await store.read(TEMP, {})), [[9, 9]]);
      await store.close();
    });
  });

  test("a field is removed from every device of its product", async () => {
    await withStore({}, async (store) => {
      const other = ref("b", "temp");
      const kept = ref("b", "level");
      await store.write([point(TEMP, 1, 1), point(other, 1, 1), point(kept, 1, 1)], 1);
      await store.removeFields([{ tenant: 1, productID: "pump", field: "temp" }]);
      assert.equal(await store.latest([TEMP, other, kept]), [null, null, { time: 1, value: 1 }]);
    });
  });

  test("old points go: whole months as files, the rest point by point", async () => {
    await withStore(SMALL, async (store, dir) => {
      const times = Array.from({ length: 300 }, (_, i) => JANUARY + i * SECOND);
      await store.write(
        times.map((at, i) => point(TEMP, at, i)),
        1,
      );
      await store.write(
        times.map((at) => point(NOTE, at, `${at}`)),
        2,
      );
      await store.flush();
      const limit = FEBRUARY + 90 * SECOND;
      await store.removeBefore(limit);
      const left = times.filter((at) => at >= limit);
      assert.equal([...(await store.read(TEMP, {})).times], left);
      assert.equal((await store.read(NOTE, {})).values, left.map(String));
      assert.not((await readdir(dir)).some((name) => name.startsWith("points-2024-01")));
      await store.write([point(TEMP, JANUARY, 1)], 3);
      await store.flush();
      assert.is((await store.read(TEMP, {})).times[0], JANUARY);
    });
  });

  test("a folder that holds points of before the first time starts and answers them, also after retention of any length", async () => {
    await withTempDir(async (dir) => {
      await writeMonthFolder(dir);
      for (const days of [0, 365_000]) {
        const store = await openLibsqlSeriesStore({ dir, readers: 1 });
        for (const series of monthFolderRefs) {
          assert.equal(entries(await store.read(series, {})), monthFolderPoints(series));
        }
        if (days > 0) await store.removeBefore((Date.now() - days * 86_400_000) * 1000);
        await store.close();
      }
      // A kill while old points are removed leaves the limit behind.
      const client = createClient({ url: `file:${join(dir, "catalog.db")}`, concurrency: 1 });
      await client.execute("insert or replace into meta values ('floor', -30000000000000000)");
      client.close();
      const store = await openLibsqlSeriesStore({ dir, readers: 1 });
      assert.is((await store.read(monthFolderRefs[0], {})).times.length, 224);
      await store.removeBefore(Date.UTC(1684, 7, 1) * 1000);
      assert.is((await store.read(monthFolderRefs[0], {})).times[0], Date.UTC(1684, 7, 1) * 1000);
      await store.close();
    });
  });

  test("while files cannot be written points wait in memory, then writes are refused, and all is made good", async () => {
    await withStore(SMALL, async (store, dir) => {
      // What is open goes on; no new file can be made.
      await rename(dir, `${dir}-away`);
      const batch = (from: number) =>
        Array.from({ length: 40 }, (_, i) => point(TEMP, FEBRUARY + (from + i) * SECOND, from + i));
      await store.write(batch(0), 1);
      assert.is(await codeOf(store.flush()), "UNAVAILABLE");
      await store.write(batch(40), 2);
      assert.is(await codeOf(store.write(batch(80), 3)), "UNAVAILABLE");
      assert.is((await store.read(TEMP, {})).times.length, 80);
      assert.is(await store.checkpoint(), 0);
      await rename(`${dir}-away`, dir);
      await until(async () => (await codeOf(store.write(batch(80), 3))) === "none", {
        what: "a write after the files can be written again",
      });
      await store.flush();
      assert.is((await store.read(TEMP, {})).times.length, 120);
      assert.is(await store.checkpoint(), 3);
    });
  });

  test("files of a newer version are refused by name", async () => {
    const changes = [
      ["catalog.db", "pragma user_version = 99", /catalog.db has format 99/],
      ["catalog.db", "update part set format = 99", /points-2024-02.db has format 99/],
      ["points-2024-02.db", "pragma user_version = 99", /points-2024-02.db has format 99/],
    ] as const;
    for (const [name, change, message] of changes) {
      await withTempDir(async (dir) => {
        const store = await openLibsqlSeriesStore({ dir, readers: 1 });
        await store.write([point(TEMP, FEBRUARY, 1)], 1);
        await store.close();
        const client = createClient({ url: `file:${join(dir, name)}`, concurrency: 1 });
        await client.execute(change);
        client.close();
        const error = await rejects(async () => {
          const opened = await openLibsqlSeriesStore({ dir, readers: 1 });
          await opened.read(TEMP, {}).finally(opened.close);
        }, message);
        assert.is(error instanceof StoreError && error.code, "UNAVAILABLE");
      });
    }
  });

  test("after close every call is refused", async () => {
    await withTempDir(async (dir) => {
      const store = await openLibsqlSeriesStore({ dir });
      await store.close();
      assert.is(await codeOf(store.read(TEMP, {})), "UNAVAILABLE");
      assert.is(await codeOf(store.write([], 1)), "UNAVAILABLE");
      await store.close();
    });
  });
});
