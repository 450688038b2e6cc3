/** Random points, ranges, windows and zones: what each of some stores answers to them, against the oracle. */

import fc from "fast-check";
import { DateTime } from "luxon";
import type { Point, SeriesRef, SeriesStore, WindowUnit } from "../../store/series/series.js";
import { assert, type Test } from "../suite.js";
import { aggregates, newDevice, newSeries, nextID, pointsOf } from "./series.js";
import { piecesOf } from "./series-columns.js";
import { agree, calendarEdges, createOracle, pairsOf } from "./series-oracle.js";

const zones = [
  "UTC",
  "Asia/Shanghai",
  "Asia/Kolkata",
  "Asia/Tokyo",
  "America/Santiago",
  "America/New_York",
  "Europe/Moscow",
  "Australia/Lord_Howe",
  "Pacific/Apia",
];

/** Local days around which clocks or calendars jump in some of the zones, and the edges of years. */
const days = [
  "2011-12-30",
  "2014-10-26",
  "2024-02-29",
  "2024-03-10",
  "2024-11-03",
  "2025-04-06",
  "2025-09-07",
  "2025-10-05",
  "2025-12-31",
  "1969-12-31",
];

const unitHours: Record<WindowUnit, number> = {
  minute: 1 / 60,
  hour: 1,
  day: 24,
  week: 168,
  month: 720,
  year: 8760,
};
const hour = 3_600_000_000;

interface Case {
  readonly timezone: string;
  readonly unit: WindowUnit;
  readonly center: number;
  readonly start: number;
  readonly stop: number;
  /** Batches of [offset from the centre in parts of the reach, value]. */
  readonly batches: readonly (readonly (readonly [number, number])[])[];
  readonly limit: number;
}

const cases: fc.Arbitrary<Case> = fc
  .record({
    timezone: fc.constantFrom(...zones),
    unit: fc.constantFrom<WindowUnit>("minute", "hour", "day", "week", "month", "year"),
    date: fc.constantFrom(...days),
    before: fc.integer({ min: 0, max: 40_000 }),
    after: fc.integer({ min: 1, max: 40_000 }),
    shift: fc.integer({ min: 0, max: 999 }),
    near: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    limit: fc.integer({ min: 1, max: 30 }),
    batches: fc.array(
      fc.array(
        fc.tuple(
          fc.oneof(fc.integer({ min: -60_000, max: 60_000 }), fc.integer({ min: -20, max: 20 })),
          fc.oneof(
            fc.integer({ min: -50, max: 50 }),
            fc.double({ min: -1e6, max: 1e6, noNaN: true }),
            // What plain addition loses.
            fc.constantFrom(1e16, -1e16, 1, -1, 1e300, -1e300, 0.1),
          ),
        ),
        { maxLength: 60 },
      ),
      { minLength: 1, maxLength: 4 },
    ),
  })
  .map(({ timezone, unit, date, before, after, shift, near, limit, batches }) => {
    const center = DateTime.fromISO(date, { zone: timezone }).toMillis() * 1000;
    const step = (unitHours[unit] * hour * 12) / 40_000; // up to 12 windows to each side
    // Also within a millisecond, and off the whole ones.
    const [start, stop] = [
      center - Math.round(before * step) - shift,
      center + (near ? shift : Math.round(after * step) + shift),
    ];
    const timed = batches.map((batch) =>
      batch.map(([at, value]) => [Math.round(center + at * step), value] as const),
    );
    return { timezone, unit, center, start, stop: Math.max(stop, start + 1), batches: timed, limit };
  });

/** Writes a case's batches, then compares every query about it with the oracle. */
async function holdsOn(stores: readonly SeriesStore[], one: Case, kind: SeriesRef["kind"]): Promise<void> {
  const [series, oracle] = [newSeries(kind, newDevice()), createOracle()];
  for (const batch of one.batches) {
    const points = pointsOf(
      series,
      ...batch.map(([time, value]): [number, Point["value"]] => [time, pointValue(kind, value)]),
    );
    const through = nextID();
    for (const store of stores) assert.equal(await store.write(points, through), []);
    oracle.write(points);
  }
  const { start, stop, limit } = one;
  const edges = calendarEdges(start, stop, one.unit, one.timezone);
  const calendar = { unit: one.unit, timezone: one.timezone };
  for (const [index, store] of stores.entries()) {
    for (const range of [
      {},
      { start, stop },
      { start, newest: limit },
      { stop, oldest: limit },
      { stop, newest: 1 },
    ]) {
      assert.equal(
        pairsOf(await store.read(series, range)),
        oracle.read(series, range),
        `store ${index} ${JSON.stringify(range)}`,
      );
    }
    const pieces = await piecesOf(store, series, { start, stop }, limit);
    assert.equal(pieces.flatMap(pairsOf), oracle.read(series, { start, stop }), `store ${index}, scan`);
    if (kind === "text") continue;
    await Promise.all(
      aggregates.map(async (aggregate) => {
        const actual = await store.aggregate({ series, edges, calendar, aggregate });
        const expected = oracle.aggregate(series, edges, aggregate);
        const bounds = oracle.bounds(series, edges, aggregate);
        const what = `store ${index}: ${aggregate}\n${edges}\n${actual}\n${expected}`;
        assert.ok(agree(actual, expected, bounds), what);
      }),
    );
  }
}

function pointValue(kind: SeriesRef["kind"], value: number): Point["value"] {
  if (kind === "number") return value;
  return kind === "boolean" ? value > 0 : `${value}\r\n"`;
}

export function defineProperty(
  test: Test,
  title: string,
  open: () => Promise<readonly SeriesStore[]>,
  runs: number,
): void {
  test(title, async () => {
    const stores = await open();
    try {
      const kinds = fc.constantFrom("number", "number", "number", "boolean", "text") as fc.Arbitrary<
        SeriesRef["kind"]
      >;
      const property = fc.asyncProperty(cases, kinds, (one, kind) => holdsOn(stores, one, kind));
      await fc.assert(property, { numRuns: runs, endOnFailure: false, interruptAfterTimeLimit: 90_000 });
    } finally {
      for (const store of stores) await store.close();
    }
  });
}
