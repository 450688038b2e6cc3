/** What the engines compute of formulas and of many points, against the same computed from the points. */

import fc from "fast-check";
import { downsample } from "../../query/downsample.js";
import { createComputing } from "../../query/formula/computing.js";
import { compileFormula } from "../../query/formula/formula.js";
import { aggregateMetric, formulaMetric } from "../../query/metrics.js";
import { zone } from "../../query/zone.js";
import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import { createExtremes } from "../../store/series/extremes.js";
import { openInfluxSeriesStore } from "../../store/series/influx/open.js";
import type { Columns, Kind, SeriesRef, SeriesStore } from "../../store/series/series.js";
import { memoryLedger } from "../influxd/ledger.js";
import { assert, influxSuite, openTempDir, suite, type Test } from "../suite.js";
import { aggregates, newDevice, newSeries, nextID, pointsOf } from "./series.js";
import { pairsOf } from "./series-oracle.js";

const day = 86_400_000_000;
const base = Date.UTC(2025, 9, 20) * 1000;

/** The newest values of a formula, none thinned out. */
const every = { limit: 100, limitDefault: 100, maxPoints: null } as const;

/** Numbers as people write them in formulas, and some that nobody does. */
const numeral = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("32", "5", "9", "0.1", "100", "1", "2", "273.15", "1.8", "1e3") },
  { weight: 1, arbitrary: fc.constantFrom("0", "1e-7", "1e21", "1e300", "4e-320", "1.7976931348623157e308") },
  { weight: 2, arbitrary: fc.double({ min: 0, max: 1e6, noNaN: true }).map(String) },
);

const { arithmetic } = fc.letrec<{ arithmetic: string; chain: string }>((tie) => ({
  arithmetic: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: tie("chain") },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie("arithmetic"), fc.constantFrom("+", "-", "*", "/"), tie("arithmetic"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
    },
    { weight: 1, arbitrary: tie("arithmetic").map((a) => `-${a}`) },
  ),
  chain: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 2, arbitrary: fc.constantFrom("dataPoint", "currentValue") },
    {
      weight: 4,
      arbitrary: fc
        .tuple(tie("chain"), fc.constantFrom("+", "-", "*", "/"), numeral)
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(numeral, fc.constantFrom("+", "-", "*", "/"), tie("chain"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
    },
  ),
}));

const value = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -50, max: 50 }) },
  { weight: 3, arbitrary: fc.double({ min: -1e6, max: 1e6, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1e300, -1e300, 5e-324, 32) },
);

const cases = fc.record({
  formula: arithmetic,
  kind: fc.constantFrom<Kind>("number", "number", "number", "boolean"),
  timezone: fc.constantFrom("UTC", "America/New_York", "Europe/Moscow", "America/Santiago"),
  unit: fc.constantFrom("hour", "day", "week", "month"),
  points: fc.array(fc.tuple(fc.integer({ min: -2_000, max: 40_000 }), value), { maxLength: 80 }),
});

/** The same store, where every formula is computed from the points. */
const withoutPushdown = (store: SeriesStore): SeriesStore => ({
  ...store,
  aggregateArithmetic: async () => null,
});

interface Seen {
  pushed: number;
  all: number;
}

/** The store, and how often it took a formula. */
function counting(store: SeriesStore, seen: Seen): SeriesStore {
  return {
    ...store,
    aggregateArithmetic: async (query) => {
      const answer = await store.aggregateArithmetic(query);
      seen.all++;
      if (answer !== null) seen.pushed++;
      return answer;
    },
  };
}

function defineFormulas(test: Test, open: () => Promise<SeriesStore>, runs: number): void {
  test("a formula's aggregate is the same pushed down and computed from the points", async () => {
    const store = await open();
    const seen: Seen = { pushed: 0, all: 0 };
    const property = fc.asyncProperty(cases, async ({ formula, kind, timezone, unit, points }) => {
      const series = newSeries(kind, newDevice());
      const written = points.map(([at, one]): [number, number | boolean] => [
        base + at * 60_000_000,
        kind === "boolean" ? one > 0 : one,
      ]);
      await store.write(pointsOf(series, ...written), nextID());
      const bound = boundTo(formula);
      assert.ok(bound.formula.arithmetic !== null, formula);
      const range = { unit, zone: zone(timezone), start: base, stop: base + 25 * day } as const;
      const size = sizeOf(
        bound.formula.evaluate(written.length, {
          dataPoint: Float64Array.from(written, ([, one]) => Number(one)),
        }).values,
      );
      for (const aggregate of aggregates) {
        const metric = { aggregate, formula: bound, fill: null };
        const answer = await aggregateMetric(counting(store, seen), series, metric, range);
        const wanted = await aggregateMetric(withoutPushdown(store), series, metric, range);
        const exact = !["mean", "sum", "increase"].includes(aggregate);
        // Among the smallest numbers of all, a rounding is worth as much as the number.
        const tolerance = exact ? 0 : Math.max(size * 1e-12, 4 * Number.MIN_VALUE);
        const told = `${aggregate} of ${formula}: ${answer.values} against ${wanted.values}`;
        assert.equal(
          [answer.times, answer.labels, answer.errors],
          [wanted.times, wanted.labels, wanted.errors],
          told,
        );
        answer.values.forEach((one, i) => {
          assert.ok(near(one, wanted.values[i] ?? null, tolerance), told);
        });
      }
    });
    try {
      await fc.assert(property, { numRuns: runs, endOnFailure: true, interruptAfterTimeLimit: 60_000 });
      assert.ok(seen.pushed > seen.all / 4, `the engine took ${seen.pushed} of ${seen.all} formulas`);
    } finally {
      await store.close();
    }
  });

  test("an increase counts from the last value that the formula gave, wherever the range begins", async () => {
    const store = await open();
    const property = fc.asyncProperty(
      fc.constantFrom(...givings),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 120 }),
      fc.integer({ min: 0, max: 120 }),
      fc.boolean(),
      async ([formula, giving], values, skipped, flushed) => {
        const series = newSeries("number", newDevice());
        await store.write(
          pointsOf(series, ...values.map((one, i): [number, number] => [base + i * 1_200_000_000, one])),
          nextID(),
        );
        if (flushed) await store.flush();
        const range = { unit: "hour", zone: zone("UTC"), start: base + skipped * 1_200_000_000 } as const;
        const stop = base + 50 * 3_600_000_000;
        const metric = { aggregate: "increase", formula: boundTo(formula), fill: null } as const;
        const { times, values: actual } = await aggregateMetric(store, series, metric, { ...range, stop });
        const expected = new Map<number, number>();
        let before: number | undefined;
        values.forEach((one, i) => {
          const given = giving(one, values[i - 1] ?? null);
          if (given === null || !Number.isFinite(given)) return;
          const time = base + i * 1_200_000_000;
          const window = Math.floor(time / 3_600_000_000) * 3_600_000_000;
          const step = before === undefined ? 0 : given < before ? given : given - before;
          if (time >= range.start) expected.set(window, (expected.get(window) ?? 0) + step);
          before = given;
        });
        actual.forEach((one, i) => {
          const wanted = expected.get(times[i] ?? 0) ?? null;
          assert.ok(
            near(one, wanted, 1e-9),
            `${formula} of ${values} from ${skipped}: ${one}, not ${wanted}`,
          );
        });
      },
    );
    try {
      await fc.assert(property, { numRuns: runs, endOnFailure: true, interruptAfterTimeLimit: 60_000 });
    } finally {
      await store.close();
    }
  });

  test("that last value is found after 60,000 points without one", async () => {
    const store = await open();
    const seen: number[] = [];
    const counting: SeriesStore = {
      ...store,
      read: (ref, range) => {
        seen.push(range.newest ?? range.oldest ?? Number.POSITIVE_INFINITY);
        return store.read(ref, range);
      },
    };
    try {
      const series = newSeries("number", newDevice());
      const count = 60_000;
      const written = Array.from({ length: count }, (_, i): [number, number] => [base + i * 1_000_000, 200]);
      written[0] = [base, 5];
      written.push([base + count * 1_000_000, 8]);
      for (let from = 0; from < written.length; from += 20_000)
        await store.write(pointsOf(series, ...written.slice(from, from + 20_000)), nextID());
      const start = base + count * 1_000_000;
      const range = { unit: "day", zone: zone("UTC"), start, stop: start + 1 } as const;
      const formula = boundTo("dataPoint > 100 ? null : dataPoint");
      const metric = { aggregate: "increase", formula, fill: null } as const;
      assert.equal((await aggregateMetric(counting, series, metric, range)).values, [3]);
      assert.ok(Math.max(...seen) <= 100_000, `${seen}`);
      // A formula that gives nothing in the range is not asked about the time before it.
      seen.length = 0;
      const nothing = { ...metric, formula: boundTo("dataPoint > 0 ? null : dataPoint") };
      assert.equal((await aggregateMetric(counting, series, nothing, range)).values, [null]);
      assert.is(seen.length, 1);
    } finally {
      await store.close();
    }
  });

  test("where there are no points, every formula answers nothing", async () => {
    const store = await open();
    try {
      const [empty, full] = [newSeries("number", newDevice()), newSeries("number", newDevice())];
      await store.write(pointsOf(full, [base, 1]), nextID());
      for (const [series, start] of [
        [empty, base],
        [full, base + day],
      ] as const) {
        for (const formula of ["lastValue", "dataPoint - lastValue", "other + lastValue", "dataPoint * 2"]) {
          const bound = { ...boundTo(formula), others: new Map([["other", full]]) };
          const range = { unit: "hour", zone: zone("UTC"), start, stop: start + day } as const;
          const real = await formulaMetric(store, series, bound, { ...range, unit: "real" }, every);
          assert.equal([[...real.times], real.values, real.errors], [[], [], 0], formula);
          for (const aggregate of aggregates) {
            const metric = { aggregate, formula: bound, fill: null };
            const { values } = await aggregateMetric(store, series, metric, range);
            assert.equal(values, new Array(24).fill(null), `${aggregate} of ${formula}`);
          }
        }
      }
    } finally {
      await store.close();
    }
  });

  test("extremes are those of all points, whatever the buckets", async () => {
    const store = await open();
    const property = fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: -9, max: 9 })), {
        maxLength: 300,
      }),
      fc.integer({ min: 1, max: 900 }),
      fc.constantFrom<Kind>("number", "boolean"),
      fc.constantFrom(0, 100),
      async (points, width, kind, exactMax) => {
        const series = newSeries(kind, newDevice());
        const written = points.map(([at, one]): [number, number | boolean] => [
          base + at * 1_000_003,
          kind === "boolean" ? one > 0 : one,
        ]);
        // In two batches, so that late points overlap what is there.
        await store.write(pointsOf(series, ...written.slice(0, 150)), nextID());
        if (width % 3 === 0) await store.flush();
        await store.write(pointsOf(series, ...written.slice(150)), nextID());
        const range = { start: base + 100_000_000, stop: base + 2_900_000_000 };
        const all = await store.read(series, range);
        if (all.kind === "text") throw new Error("a number series was read as text");
        const extremes = createExtremes(width * 1_000_000);
        extremes.add(all.times, all.values);
        const { times, values } = extremes.result();
        const answer = await store.extremes({ series, ...range, width: width * 1_000_000, exactMax });
        const isWhole = all.times.length <= exactMax;
        assert.equal(
          pairsOf(answer),
          isWhole ? pairsOf(all) : [...times].map((time, i) => [time, values[i]]),
        );
      },
    );
    try {
      await fc.assert(property, { numRuns: runs, endOnFailure: true, interruptAfterTimeLimit: 40_000 });
    } finally {
      await store.close();
    }
  });
}

function defineDownsampling(test: Test, open: () => Promise<SeriesStore>): void {
  test("a thinned range holds its ends, its lowest and its highest, the same from every engine", async () => {
    const store = await open();
    try {
      for (const [kind, count] of [
        ["number", 30],
        ["number", 9_000],
        ["number", 70_000],
        ["boolean", 70_000],
      ] as const) {
        const series = newSeries(kind, newDevice());
        const written = wander(count).map(([time, one]): [number, number | boolean] => [
          time,
          kind === "boolean" ? one > 40 : one,
        ]);
        for (let from = 0; from < count; from += 20_000)
          await store.write(pointsOf(series, ...written.slice(from, from + 20_000)), nextID());
        const pairs = written.map(([time, one]): [number, number] => [time, Number(one)]);
        const all = pairs.map(([, one]) => one);
        const [lowest, highest] = [
          all.reduce((a, b) => Math.min(a, b)),
          all.reduce((a, b) => Math.max(a, b)),
        ];
        for (const maxPoints of [4, 5, 7, 100, 2_000]) {
          const found = pairsOf(await downsample(store, series, {}, maxPoints));
          const told = `${maxPoints} of ${count} ${kind}s`;
          for (const one of [
            ...[pairs[0], pairs.at(-1)],
            ...[lowest, highest].map((end) => pairs.find(([, value]) => value === end)),
          ])
            assert.ok(
              found.some(([time, value]) => time === one?.[0] && value === one[1]),
              `${told}: ${one}`,
            );
          assert.ok(found.length <= maxPoints, told);
          assert.equal(found, pairsOf(await downsample(inMemory(kind, pairs), series, {}, maxPoints)), told);
        }
      }
    } finally {
      await store.close();
    }
  });
}

/** A random walk at uneven steps of time, the same each time, whose extremes are single points beside others. */
function wander(count: number): [number, number][] {
  let [seed, time, value] = [42, base, 0];
  const next = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  const pairs = Array.from({ length: count }, (): [number, number] => {
    time += 1 + Math.floor(next() * 2_000_000);
    value += next() - 0.5;
    return [time, value];
  });
  const [low, high] = [Math.floor(count * 0.61), Math.floor(count * 0.61) + 1];
  for (const [at, one] of [
    [low, -1000],
    [high, 1000],
    [high + 1, 1000],
    [high + 2, 999.5],
  ] as const)
    (pairs[at] as [number, number])[1] = one;
  return pairs;
}

/** What downsampling asks of a store, answered from the points themselves. */
function inMemory(kind: "number" | "boolean", pairs: readonly [number, number][]): SeriesStore {
  const columns = (some: readonly [number, number][]): Columns => ({
    kind,
    times: Float64Array.from(some, ([time]) => time),
    values: Float64Array.from(some, ([, value]) => value),
  });
  const store: Pick<SeriesStore, "read" | "aggregate" | "extremes"> = {
    read: async (_, { oldest, newest }) =>
      columns(oldest === 1 ? pairs.slice(0, 1) : newest === 1 ? pairs.slice(-1) : pairs),
    aggregate: async () => [pairs.length],
    extremes: async ({ width, exactMax }) => {
      if (pairs.length <= exactMax) return columns(pairs);
      const kept = new Set([pairs[0], pairs.at(-1)]);
      const buckets = new Map<number, [number, number][]>();
      for (const one of pairs) {
        const bucket = Math.floor(one[0] / width);
        const some = buckets.get(bucket);
        if (some === undefined) buckets.set(bucket, [one]);
        else some.push(one);
      }
      for (const some of buckets.values()) {
        kept.add(some.reduce((low, one) => (one[1] < low[1] ? one : low)));
        kept.add(some.reduce((high, one) => (one[1] > high[1] ? one : high)));
      }
      return columns(pairs.filter((one) => kept.has(one)));
    },
  };
  return store as SeriesStore;
}

/** Formulas that give nothing at some points, and the same in JavaScript. */
const givings: readonly (readonly [string, (value: number, last: number | null) => number | null])[] = [
  ["dataPoint > 3 ? null : dataPoint", (value) => (value > 3 ? null : value)],
  ["1 / (dataPoint - 5)", (value) => 1 / (value - 5)],
  ["(dataPoint - 2) / (dataPoint - 9) / (dataPoint - 8)", (value) => (value - 2) / (value - 9) / (value - 8)],
  ["sqrt(dataPoint - lastValue)", (value, last) => (last === null ? null : Math.sqrt(value - last))],
  ["lastValue > 1 ? null : lastValue", (_, last) => (last === null || last > 1 ? null : last)],
  ["dataPoint == 7 ? 7 : null", (value) => (value === 7 ? 7 : null)],
  ["dataPoint * 2", (value) => value * 2],
];

const boundTo = (formula: string) => ({
  formula: compileFormula(formula, new Set(["other"])),
  others: new Map<string, SeriesRef>(),
  computing: createComputing(60),
});

/** What sums are measured by: the size of all that goes in. */
function sizeOf(results: Float64Array): number {
  return results.reduce((sum, one) => sum + (Number.isFinite(one) ? Math.abs(one) : 0), 0);
}

function near(one: unknown, other: unknown, tolerance: number): boolean {
  if (typeof one !== "number" || typeof other !== "number") return one === other;
  return one === other || Math.abs(one - other) <= tolerance || !Number.isFinite(tolerance);
}

suite("formulas in the embedded engine", (test) => {
  let folder: ReturnType<typeof openTempDir> | undefined;
  test.after(async () => (await folder)?.close());
  const open = async () => {
    folder ??= openTempDir();
    return openLibsqlSeriesStore({ dir: (await folder).path, memtablePointsMax: 500 });
  };
  defineFormulas(test, open, 150);
  defineDownsampling(test, open);
});

influxSuite("formulas in InfluxDB", (test, influx) => {
  const open = async () => {
    const { url, token, org, bucket } = await influx();
    const checkpoint = () => ({ read: async () => 0, write: async () => {} });
    return openInfluxSeriesStore({
      url,
      token,
      org,
      bucket,
      firstShard: 0,
      checkpoint,
      ledger: memoryLedger(),
    });
  };
  defineFormulas(test, open, 60);
  defineDownsampling(test, open);
});
