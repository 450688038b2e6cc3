/** The contract of a series store, for every engine. Each test has a device of its own in one shared store. */

import { earliestTime, latestTime } from "../../store/lib/time-range.js";
import type {
  Aggregate,
  Kind,
  Point,
  SeriesRef,
  SeriesStore,
  WindowUnit,
} from "../../store/series/series.js";
import { assert, type Test } from "../suite.js";
import { defineColumns } from "./series-columns.js";
import { agree, calendarEdges, createOracle, pairsOf } from "./series-oracle.js";
import { defineTexts } from "./series-texts.js";

/** Opens the store on the same data each time; the caller of the contract removes them. */
type OpenSeriesStore = () => Promise<SeriesStore>;

export const aggregates: readonly Aggregate[] = [
  "max",
  "min",
  "mean",
  "sum",
  "increase",
  "first",
  "last",
  "count",
];

const minute = 60_000_000;
const hour = 60 * minute;
const day = 24 * hour;
const base = Date.UTC(2025, 2, 1) * 1000;

let devices = 0;
let journalID = 0;

/** A series of a device that nothing else uses. */
export function newSeries(kind: Kind = "number", deviceID = newDevice(), field: string = kind): SeriesRef {
  return { tenant: 1, productID: "Pr0duc", deviceID, field, kind };
}

export function newDevice(): string {
  devices += 1;
  return `dev-${process.pid}-${devices}`;
}

/** Ids ascend over the whole process, as the journal's do. */
export function nextID(): number {
  journalID += 1;
  return journalID;
}

export function pointsOf(series: SeriesRef, ...pairs: readonly [number, Point["value"]][]): Point[] {
  return pairs.map(([time, value]) => ({ series, time, value, serverStamped: false }));
}

export function defineSeriesContract(test: Test, open: OpenSeriesStore): void {
  let opened: SeriesStore | undefined;
  const use = async () => {
    opened ??= await open();
    return opened;
  };
  const reopen = async () => {
    await opened?.close();
    opened = await open();
    return opened;
  };
  test.after(async () => opened?.close());

  // First: InfluxDB looks through every week that has points at each of its steps, and others write into centuries.
  defineRetention(test, use);
  definePoints(test, use);
  defineColumns(test, use);
  defineTexts(test, use);
  defineAggregates(test, use);
  defineRemoval(test, use);
  defineCheckpoint(test, use, reopen);
}

function definePoints(test: Test, use: OpenSeriesStore): void {
  test("an empty series reads as empty columns and has no newest point", async () => {
    const store = await use();
    for (const kind of ["number", "boolean", "text"] as const) {
      const columns = await store.read(newSeries(kind), {});
      assert.equal(pairsOf(columns), []);
      assert.is(columns.kind, kind);
    }
    assert.equal(await store.latest([newSeries(), newSeries("text")]), [null, null]);
  });

  test("points read back in time order with every bit of the number", async () => {
    const store = await use();
    const series = newSeries();
    const values = [
      0.1 + 0.2,
      5e-324,
      1.7976931348623157e308,
      -1e21,
      2 ** 53,
      1e-7,
      0,
      -273.15,
      123456.789012345,
    ];
    const points = values.map((value, i): [number, number] => [base + i * 1_000_001, value]);
    await store.write(pointsOf(series, ...points).reverse(), nextID());
    assert.equal(pairsOf(await store.read(series, {})), points);
  });

  test("booleans are 1 and 0, text comes back exactly", async () => {
    const store = await use();
    const deviceID = newDevice();
    const flag = newSeries("boolean", deviceID);
    const text = newSeries("text", deviceID);
    const texts = [
      "",
      " ",
      "a\nb\r\nc\rd",
      'say "hi", \\ \\n',
      "温度 🌡",
      "$" + "{x} <&>\u2028\u2029",
      "a,b=c d",
      "\\",
      "null",
    ];
    await store.write(pointsOf(flag, [base, true], [base + 1, false]), nextID());
    await store.write(
      pointsOf(text, ...texts.map((value, i): [number, string] => [base + i, value])),
      nextID(),
    );
    assert.equal(pairsOf(await store.read(flag, {})), [
      [base, 1],
      [base + 1, 0],
    ]);
    const read = await store.read(text, {});
    assert.equal(read.values, texts);
    const newest = await store.latest([text, flag]);
    assert.equal(newest, [
      { time: base + texts.length - 1, value: "null" },
      { time: base + 1, value: 0 },
    ]);
  });

  test("the later write of a time wins, late points find their place, a batch may repeat a time", async () => {
    const store = await use();
    const series = newSeries();
    await store.write(pointsOf(series, [base, 1], [base + day, 2]), nextID());
    await store.write(pointsOf(series, [base - day, 3], [base, 4], [base, 5]), nextID());
    await store.write(pointsOf(series, [base + 5, 1], [base + 6, 1], [base + 5, 2], [base + 6, 3]), nextID());
    assert.equal(pairsOf(await store.read(series, {})), [
      [base - day, 3],
      [base, 5],
      [base + 5, 2],
      [base + 6, 3],
      [base + day, 2],
    ]);
    assert.equal(await store.latest([series]), [{ time: base + day, value: 2 }]);
  });

  test("the first and the last time that points may have are held, what lies beyond is refused", async () => {
    const store = await use();
    const series = newSeries();
    const pairs: [number, number][] = [
      [earliestTime, 1],
      [latestTime, 2],
    ];
    const beyond = [earliestTime - 1, Number.MIN_SAFE_INTEGER, latestTime + 1, Number.MAX_SAFE_INTEGER, 0.5];
    const refused = await store.write(
      pointsOf(series, ...pairs, ...beyond.map((time): [number, number] => [time, 3])),
      nextID(),
    );
    assert.equal(
      refused.map(({ point }) => point.time),
      beyond,
    );
    const other = newSeries();
    const times = Float64Array.of(...beyond, earliestTime, latestTime);
    const refusedAt = await store.writeBatch({
      series: [other],
      seriesAt: new Int32Array(times.length),
      times,
      texts: [],
      values: Float64Array.of(3, 3, 3, 3, 3, 1, 2),
    });
    assert.equal(
      refusedAt.map(({ index }) => index),
      [0, 1, 2, 3, 4],
    );
    await store.flush();
    for (const one of [series, other]) {
      assert.equal(pairsOf(await store.read(one, {})), pairs);
      assert.equal(pairsOf(await store.read(one, { start: Number.MIN_SAFE_INTEGER, newest: 2 })), pairs);
      assert.equal(await store.latest([one]), [{ time: latestTime, value: 2 }]);
    }
    // Calendar windows may begin before the first time and end after the last.
    for (const [year, value] of [
      [1684, 1],
      [2255, 2],
    ] as const) {
      const edges = [year, year + 1].map((at) => Date.UTC(at, 0) * 1000);
      const calendar = { unit: "year", timezone: "UTC" } as const;
      assert.equal(await store.aggregate({ series, edges, calendar, aggregate: "max" }), [value]);
    }
  });

  test("ranges take their start, leave their stop, and give the newest or the oldest", async () => {
    const store = await use();
    const [series, oracle] = [newSeries(), createOracle()];
    const sparse = Array.from({ length: 300 }, (_, i): [number, number] => [base + i * i * minute, i]);
    const points = pointsOf(series, ...sparse);
    await store.write(points, nextID());
    oracle.write(points);
    const start = base + 100 * minute;
    const stop = base + 10_000 * minute;
    const ranges = [
      {},
      { start },
      { stop },
      { start, stop },
      { start: stop, stop: start },
      { start, stop: start },
    ];
    const limits = [0, 1, 2, 17, 299, 300, 1000].flatMap((n) => [{ newest: n }, { oldest: n }]);
    for (const range of ranges.flatMap((span) => [span, ...limits.map((limit) => ({ ...span, ...limit }))])) {
      assert.equal(
        pairsOf(await store.read(series, range)),
        oracle.read(series, range),
        JSON.stringify(range),
      );
    }
  });

  test("points of many devices in one batch stay apart", async () => {
    const store = await use();
    const series = Array.from({ length: 250 }, () => newSeries());
    await store.write(
      series.flatMap((ref, i) => pointsOf(ref, [base, i], [base + 1, -i])),
      nextID(),
    );
    assert.equal(
      await store.latest(series),
      series.map((_, i) => ({ time: base + 1, value: -i || 0 })),
    );
  });

  test("names hold what the rules of names allow", async () => {
    const store = await use();
    const names = ['a"b', "a\\", "\\", "a\\=b", "a=b", "100%", "%5C", "日本", "$$" + "{x}", "a.b:c~2", "'"];
    const series = names.map((name) => newSeries("number", `${newDevice()}${name}`, "x.y:z_1~2"));
    await store.write(
      series.flatMap((ref, i) => pointsOf(ref, [base, i])),
      nextID(),
    );
    assert.equal(
      await store.latest(series),
      names.map((_, i) => ({ time: base, value: i })),
    );
    assert.equal(
      await store.whichHavePoints(series),
      names.map(() => true),
    );
    await store.removeDevices(series);
    assert.equal(
      await store.latest(series),
      names.map(() => null),
    );
  });
}

const spans: readonly [WindowUnit, string, number, number][] = [
  ["minute", "UTC", base + 30_000_000, base + 3 * hour + 1000],
  ["hour", "Asia/Kolkata", base, base + 3 * day],
  ["hour", "Australia/Lord_Howe", Date.UTC(2025, 3, 5) * 1000, Date.UTC(2025, 3, 7) * 1000],
  ["day", "America/New_York", base, base + 40 * day + hour],
  ["day", "Asia/Tokyo", base + hour, base + 40 * day],
  ["week", "Europe/Moscow", base, base + 60 * day],
  ["month", "Asia/Shanghai", Date.UTC(2024, 10, 7) * 1000, Date.UTC(2025, 10, 7) * 1000],
  ["month", "America/Santiago", Date.UTC(2024, 10, 7) * 1000, Date.UTC(2025, 10, 7) * 1000],
  ["year", "UTC", Date.UTC(2022, 4) * 1000, Date.UTC(2026, 4) * 1000],
];

function defineAggregates(test: Test, use: OpenSeriesStore): void {
  test("every aggregate of numbers and booleans on windows of every unit", async () => {
    const store = await use();
    for (const [unit, timezone, start, stop] of spans) {
      const deviceID = newDevice();
      const step = Math.floor((stop - start) / 500);
      const times = Array.from({ length: 520 }, (_, i) => start + (i - 10) * step).filter(
        (_, i) => i % 50 > 7,
      );
      for (const kind of ["number", "boolean"] as const) {
        const [series, oracle] = [newSeries(kind, deviceID), createOracle()];
        const valueAt = (i: number) => (kind === "number" ? Math.round(Math.sin(i) * 1e4) / 64 : i % 3 === 0);
        const points = pointsOf(
          series,
          ...times.map((time, i): [number, Point["value"]] => [time, valueAt(i)]),
        );
        await store.write(points, nextID());
        oracle.write(points);
        const edges = calendarEdges(start, stop, unit, timezone);
        for (const aggregate of aggregates) {
          const actual = await store.aggregate({ series, edges, calendar: { unit, timezone }, aggregate });
          const expected = oracle.aggregate(series, edges, aggregate);
          const what = `${aggregate} of ${kind} by ${unit} in ${timezone}`;
          const bounds = oracle.bounds(series, edges, aggregate);
          assert.ok(agree(actual, expected, bounds), `${what}\n${actual}\n${expected}`);
        }
      }
    }
  });

  test("sums lie within n·ε·Σ|v| of the exact ones", async () => {
    const store = await use();
    const calendar = { unit: "hour", timezone: "UTC" } as const;
    const rows = [
      [1e16, 1, -1e16],
      [0.1, 0.2, 0.3, -0.6],
      Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? 1 : -1) * 10 ** (i % 17) + 0.1),
      Array.from({ length: 1000 }, (_, i) => 1 / (i + 1)),
    ];
    for (const row of rows) {
      const [series, oracle, edges] = [newSeries(), createOracle(), [base, base + hour]];
      const points = pointsOf(series, ...row.map((value, i): [number, number] => [base + i, value]));
      await store.write(points, nextID());
      oracle.write(points);
      for (const aggregate of ["sum", "mean", "increase"] as const) {
        const actual = await store.aggregate({ series, edges, calendar, aggregate });
        const expected = oracle.aggregate(series, edges, aggregate);
        const bounds = oracle.bounds(series, edges, aggregate);
        assert.ok(agree(actual, expected, bounds), `${aggregate}: ${actual}, not ${expected} ± ${bounds}`);
      }
    }
  });

  test("windows without points are null for every aggregate", async () => {
    const store = await use();
    const calendar = { unit: "hour", timezone: "UTC" } as const;
    const edges = [base, base + hour, base + 2 * hour];
    const series = newSeries();
    for (const aggregate of aggregates) {
      assert.equal(await store.aggregate({ series, edges, calendar, aggregate }), [null, null], aggregate);
    }
  });

  test("increase looks back before the range, starts at 0 and takes a fall as a reset", async () => {
    const store = await use();
    const series = newSeries();
    const pairs: [number, number][] = [10, 15, 3, 4, -2, 0].map((value, i) => [base + i * hour, value]);
    await store.write(pointsOf(series, ...pairs), nextID());
    const ask = (start: number) => {
      const edges = calendarEdges(start, base + 8 * hour, "hour", "UTC");
      return store.aggregate({
        series,
        edges,
        calendar: { unit: "hour", timezone: "UTC" },
        aggregate: "increase",
      });
    };
    assert.equal(await ask(base), [0, 5, 3, 1, -2, 2, null, null]);
    assert.equal(await ask(base + hour), [5, 3, 1, -2, 2, null, null]);
    assert.equal(await ask(base - hour), [null, 0, 5, 3, 1, -2, 2, null, null]);
  });
}

function defineRemoval(test: Test, use: OpenSeriesStore): void {
  test("a removed device is empty, its neighbours stay, and it can be written anew", async () => {
    const store = await use();
    const [gone, kept] = [newSeries(), newSeries()];
    const text = newSeries("text", gone.deviceID);
    await store.write(
      [...pointsOf(gone, [base, 1], [base + 40 * day, 2]), ...pointsOf(text, [base, "x"])],
      nextID(),
    );
    await store.write(pointsOf(kept, [base, 3]), nextID());
    for (let repeat = 0; repeat < 2; repeat += 1) await store.removeDevices([gone]);
    assert.equal(await store.latest([gone, text, kept]), [null, null, { time: base, value: 3 }]);
    assert.equal(pairsOf(await store.read(gone, {})), []);
    await store.write(pointsOf(gone, [base + 1, 7]), nextID());
    assert.equal(pairsOf(await store.read(gone, {})), [[base + 1, 7]]);
  });

  test("one call finds which of many devices have points: in memory, on disk, of any kind", async () => {
    const store = await use();
    const having = Array.from({ length: 300 }, (_, i) =>
      newSeries((["number", "boolean", "text"] as const)[i % 3], `${newDevice()}'"\\ 日本`),
    );
    const valueFor = ({ kind }: SeriesRef) => ({ number: 1, boolean: true, text: "x" })[kind];
    await store.write(
      having.slice(0, 200).flatMap((ref, i) => pointsOf(ref, [base - i * day, valueFor(ref)])),
      nextID(),
    );
    await store.flush();
    await store.write(
      having.slice(200).flatMap((ref) => pointsOf(ref, [base, valueFor(ref)])),
      nextID(),
    );
    // Devices of other products are included, because the deviceID alone does not identify a device.
    const without = having.slice(0, 150).map((ref) => ({ ...ref, productID: `${ref.productID}x` }));
    const never = Array.from({ length: 150 }, () => newSeries());
    const asked = having.flatMap((ref, i) => [ref, ...without.slice(i, i + 1), ...never.slice(i, i + 1)]);
    const expected = new Map(having.map((ref) => [ref, true]));
    assert.equal(
      await store.whichHavePoints(asked),
      asked.map((ref) => expected.has(ref)),
    );
    assert.equal(await store.whichHavePoints([]), []);
  });

  test("many devices are removed at once, some without points, and nobody else's", async () => {
    const store = await use();
    const all = Array.from({ length: 60 }, () => newSeries());
    await store.write(
      all.flatMap((ref) => pointsOf(ref, [base, 1], [base + 40 * day, 2])),
      nextID(),
    );
    const gone = all.filter((_, i) => i % 3 !== 0);
    await store.removeDevices([...gone, newSeries(), ...gone.slice(0, 5)]);
    assert.equal(
      await store.latest(all),
      all.map((ref) => (gone.includes(ref) ? null : { time: base + 40 * day, value: 2 })),
    );
    const kept = all.filter((ref) => !gone.includes(ref));
    assert.equal(
      await store.whichHavePoints(kept),
      kept.map(() => true),
    );
    await store.removeDevices([]);
  });
}

function defineRetention(test: Test, use: OpenSeriesStore): void {
  test("removeBefore takes what is older and leaves the rest", async () => {
    const store = await use();
    const series = newSeries();
    const old = Date.UTC(1999, 0, 10) * 1000;
    await store.write(pointsOf(series, [old - 2 * day, 1], [old - 1, 2], [old, 3], [base, 4]), nextID());
    await store.removeBefore(old);
    assert.equal(pairsOf(await store.read(series, {})), [
      [old, 3],
      [base, 4],
    ]);
    assert.equal(await store.latest([series]), [{ time: base, value: 4 }]);
  });
}

function defineCheckpoint(test: Test, use: OpenSeriesStore, reopen: OpenSeriesStore): void {
  test("close keeps the points and the checkpoint", async () => {
    const store = await use();
    const series = newSeries();
    await Promise.all([0, 1, 2, 3].map((i) => store.write(pointsOf(series, [base + i, i]), nextID())));
    await store.write([], nextID());
    await store.flush();
    assert.is(await store.checkpoint(), journalID);
    const again = await reopen();
    assert.is(await again.checkpoint(), journalID);
    assert.is((await again.read(series, {})).times.length, 4);
  });
}
