/** What the engines compute of formulas and of many points, against the same computed from the points. */
import fc from "fast-check";
import { compileFormula } from "../../query/formula.js";
import { aggregateMetric } from "../../query/metrics.js";
import { zone } from "../../query/zone.js";
import { createExtremes } from "../../store/extremes.js";
import type { Kind, SeriesStore } from "../../store/series.js";
import { openInfluxSeriesStore } from "../../store/series-influx.js";
import { openLibsqlSeriesStore } from "../../store/series-libsql.js";
import { assert, influxSuite, openTempDir, suite, type Test } from "../suite.js";
import { aggregates, newDevice, newSeries, nextID, pointsOf } from "./series.js";
import { pairsOf } from "./series-oracle.js";

const day = 86_400_000_000;
const base = Date.UTC(2025, 9, 20) * 1000;

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
      const bound = { formula: compileFormula(formula, new Set()), others: new Map() };
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

  test("extremes are those of all points, whatever the buckets", async () => {
    const store = await open();
    const property = fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: -9, max: 9 })), {
        maxLength: 300,
      }),
      fc.integer({ min: 1, max: 900 }),
      fc.constantFrom<Kind>("number", "boolean"),
      async (points, width, kind) => {
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
        const answer = await store.extremes({ series, ...range, width: width * 1_000_000 });
        assert.equal(
          pairsOf(answer),
          [...times].map((time, i) => [time, values[i]]),
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
});

influxSuite("formulas in InfluxDB", (test, influx) => {
  const open = async () => {
    const { url, token, org, bucket } = await influx();
    const checkpoint = { read: async () => 0, write: async () => {} };
    return openInfluxSeriesStore({ url, token, org, bucket, nodeNumber: 0, checkpoint });
  };
  defineFormulas(test, open, 60);
});
