/**
 * A month of answers in five zones, against figures worked out here: offsets are written down by hand, points are
 * sorted into windows one by one, nothing of the service's calendar is used.
 */
import { makeDataPoint, makeDevice, makeMetric, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, type World, worldSuites } from "../world.js";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

interface Case {
  readonly zone: string;
  /** The month asked for, 1–12. */
  readonly year: number;
  readonly month: number;
  /** Hours ahead of UTC, first as the month begins, then from each instant on. */
  readonly offsets: readonly (readonly [from: string, hours: number])[];
  /** Hours of the month by the wall clock. */
  readonly hours: number;
}

const always = "1970-01-01T00:00:00Z";
const cases: readonly Case[] = [
  { zone: "Asia/Shanghai", year: 2025, month: 3, offsets: [[always, 8]], hours: 744 },
  { zone: "Asia/Kolkata", year: 2025, month: 4, offsets: [[always, 5.5]], hours: 720 },
  {
    zone: "America/New_York",
    year: 2025,
    month: 3,
    hours: 743,
    offsets: [
      [always, -5],
      ["2025-03-09T07:00:00Z", -4],
    ],
  },
  {
    zone: "America/New_York",
    year: 2025,
    month: 11,
    hours: 721,
    offsets: [
      [always, -4],
      ["2025-11-02T06:00:00Z", -5],
    ],
  },
  {
    // Clocks go back at midnight: the day before has 25 hours.
    zone: "America/Santiago",
    year: 2025,
    month: 4,
    hours: 721,
    offsets: [
      [always, -3],
      ["2025-04-06T03:00:00Z", -4],
    ],
  },
  {
    // Clocks go forward at midnight: the day has none.
    zone: "America/Santiago",
    year: 2025,
    month: 9,
    hours: 719,
    offsets: [
      [always, -4],
      ["2025-09-07T04:00:00Z", -3],
    ],
  },
  { zone: "Europe/Moscow", year: 2025, month: 3, offsets: [[always, 3]], hours: 744 },
  {
    // The last change that Moscow made, from summer time for good to winter time for good.
    zone: "Europe/Moscow",
    year: 2014,
    month: 10,
    hours: 745,
    offsets: [
      [always, 4],
      ["2014-10-25T22:00:00Z", 3],
    ],
  },
];

const offsetMs = ({ offsets }: Case, utc: number): number =>
  (offsets.findLast(([from]) => Date.parse(from) <= utc)?.[1] ?? 0) * hourMs;

/** A point every ten minutes, some missing, in quarters so that sums of any order are the same. */
const isThere = (utc: number): boolean => (utc / (10 * minuteMs)) % 7 !== 3;
const valueAt = (utc: number): number => ((utc / (10 * minuteMs)) % 401) / 4 - 30;

/** A window of each unit as its wall clock has it: a name that no other window has, and its label. */
const windows: Readonly<
  Record<string, (wall: number, offset: number) => readonly [key: string, label: number]>
> = {
  hour: (wall, offset) => {
    const start = Math.floor(wall / hourMs) * hourMs;
    return [`${start} ${offset}`, start];
  },
  day: (wall) => {
    const start = Math.floor(wall / dayMs) * dayMs;
    return [String(start), start];
  },
  month: (wall) => {
    const date = new Date(wall);
    const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    return [String(start), start];
  },
};

const folds: readonly (readonly [aggregateType: number, fold: (values: readonly number[]) => number])[] = [
  [1, (values) => Math.max(...values)],
  [2, (values) => Math.min(...values)],
  [3, (values) => values.reduce((a, b) => a + b, 0) / values.length],
  [4, (values) => values.reduce((a, b) => a + b, 0)],
  [6, (values) => values[0] ?? Number.NaN],
  [7, (values) => values.at(-1) ?? Number.NaN],
  [8, (values) => values.length],
];

const text = (wall: number) => new Date(wall).toISOString().slice(0, 19).replace("T", " ");

/** The instants of the case's month, and a day of points on either side that must not count. */
function instantsOf(one: Case): { inside: number[]; around: number[] } {
  const [start, stop] = [Date.UTC(one.year, one.month - 1, 1), Date.UTC(one.year, one.month, 1)];
  const around: number[] = [];
  for (let utc = start - 2 * dayMs; utc < stop + 2 * dayMs; utc += 10 * minuteMs) {
    if (isThere(utc)) around.push(utc);
  }
  const isInside = (utc: number) => {
    const wall = utc + offsetMs(one, utc);
    return wall >= start && wall < stop;
  };
  return { around, inside: around.filter(isInside) };
}

interface Expected {
  readonly label: string;
  readonly values: number[];
}

function expectedOf(one: Case, unit: string): Expected[] {
  const found = new Map<string, Expected>();
  for (const utc of instantsOf(one).inside) {
    const offset = offsetMs(one, utc);
    const [key, label] = windows[unit]?.(utc + offset, offset) ?? ["", 0];
    const window = found.get(key) ?? { label: text(label), values: [] };
    window.values.push(valueAt(utc));
    found.set(key, window);
  }
  return [...found.values()];
}

worldSuites("a month in the world's zones", (test, world) => {
  let opening: Promise<{ device: Rec; metrics: Rec[]; formulas: Rec[] }> | undefined;
  const station = () => {
    opening ??= open(world);
    return opening;
  };

  for (const one of cases) {
    for (const unit of Object.keys(windows)) {
      test(`${one.zone}, ${one.year}-${one.month}, by the ${unit}`, async () => {
        const { device, metrics, formulas } = await station();
        const expected = expectedOf(one, unit);
        if (unit === "hour") assert.is(expected.length, one.hours);
        const query = new URLSearchParams({
          deviceIntID: String(device.id),
          time_unit: unit,
          timezone: one.zone,
          startTime: text(Date.UTC(one.year, one.month - 1, 1)),
          endTime: text(Date.UTC(one.year, one.month, 1)),
        });
        const { list } = await world.call("GET", `/api/v1/metrics_data?${query}`);
        const data = (metric: Rec | undefined) =>
          list.find((item) => item.id === metric?.id)?.metricData as { time: string[]; value: number[] };
        for (const [i, [aggregateType, fold]] of folds.entries()) {
          const { time, value } = data(metrics[i]);
          assert.equal(
            time,
            expected.map(({ label }) => label),
          );
          same(
            value,
            expected.map(({ values }) => fold(values)),
            `aggregateType ${aggregateType}`,
          );
          // Fahrenheit, which the engine computes.
          same(
            data(formulas[i]).value,
            expected.map(({ values }) => fold(values.map((celsius) => celsius * 1.8 + 32))),
            `aggregateType ${aggregateType} of a formula`,
          );
        }
      });
    }
  }
});

function same(actual: readonly number[], expected: readonly number[], what: string): void {
  assert.is(actual.length, expected.length, what);
  for (const [i, value] of actual.entries()) {
    const wanted = expected[i] ?? Number.NaN;
    const close = Math.abs(value - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted));
    assert.ok(close, `${what}: window ${i} is ${value}, not ${wanted}`);
  }
}

async function open(world: World): Promise<{ device: Rec; metrics: Rec[]; formulas: Rec[] }> {
  const product = await makeProduct(world);
  const point = await makeDataPoint(world, product, { dataPointID: "temp" });
  const device = await makeDevice(world, product);
  const times = [...new Set(cases.flatMap((one) => instantsOf(one).around))].sort((a, b) => a - b);
  const payloads: object[] = [];
  for (let from = 0; from < times.length; from += 1000) {
    payloads.push(times.slice(from, from + 1000).map((time) => ({ time, temp: valueAt(time) })));
  }
  await world.publish(device, ...payloads);
  const metrics: Rec[] = [];
  const formulas: Rec[] = [];
  for (const [aggregateType] of folds) {
    metrics.push(await makeMetric(world, point, { aggregateType }));
    const expressions = "dataPoint * 1.8 + 32";
    formulas.push(
      await makeMetric(world, point, { aggregateType, metricType: 2, aggregateData: 1, expressions }),
    );
  }
  return { device, metrics, formulas };
}
