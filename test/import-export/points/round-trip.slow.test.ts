/** What is exported imports to the same points, bit for bit: on both engines, in every form. */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import fc from "fast-check";
import type { OriginalForm } from "../../../query/original.js";
import type { TimeStyle } from "../../../src/import-export/points/export-messages.js";
import { openExport } from "../../../src/import-export/points/export-stream.js";
import {
  type HistoryFormat,
  type HistoryLayout,
  historyFormats,
  layouts,
} from "../../../src/import-export/points/limits.js";
import { readHistory } from "../../../src/import-export/points/read-history.js";
import { earliestTime, latestTime } from "../../../store/lib/time-range.js";
import { openLibsqlSeriesStore } from "../../../store/series/embedded/open.js";
import { openInfluxSeriesStore } from "../../../store/series/influx/open.js";
import type { Kind, SeriesPointBatch, SeriesRef, SeriesStore } from "../../../store/series/series.js";
import { memoryLedger } from "../../influxd/ledger.js";
import { assert, influxSuite, openTempDir, suite, type Test } from "../../suite.js";

/** dataPointID, type of the interface, kind, form; a name that a spreadsheet would take for a formula is among them. */
const points: readonly { name: string; type: number; kind: Kind; form: OriginalForm }[] = [
  { name: "temp", type: 1, kind: "number", form: "number" },
  { name: "-at", type: 24, kind: "number", form: "number" },
  { name: "on", type: 5, kind: "boolean", form: "boolean" },
  { name: "note", type: 3, kind: "text", form: "text" },
  { name: "place", type: 6, kind: "text", form: "place" },
];

const values: Readonly<Record<string, fc.Arbitrary<number | string>>> = {
  temp: fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(0, -0, 5e-324),
  ),
  "-at": fc.integer({ min: -1e12, max: 1e12 }).map((micros) => micros / 1000),
  on: fc.constantFrom(0, 1),
  note: fc.oneof(
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.constantFrom("", '"', '""', "\r\n", "'=1", "=1", "\ufeff", "a,b\n", "\\", "\u0001".repeat(20_000)),
  ),
  place: fc
    .tuple(fc.integer({ min: -180, max: 180 }), fc.double({ min: -90, max: 90, noNaN: true }))
    .map((pair) => JSON.stringify(pair)),
};

const time = fc.oneof(
  fc.integer({ min: earliestTime, max: latestTime }),
  fc.integer({ min: -3, max: 3 }),
  fc.integer({ min: 0, max: 1000 }).map((n) => 1_700_000_000_000_000 + n * 500_000),
);

interface Case {
  readonly rows: readonly (readonly [name: string, time: number, value: number | string])[];
  readonly format: HistoryFormat;
  readonly layout: HistoryLayout;
  readonly times: TimeStyle;
  readonly gzip: boolean;
}

const cases: fc.Arbitrary<Case> = fc.record({
  rows: fc.array(
    fc
      .constantFrom(...points.map(({ name }) => name))
      .chain((name) => fc.tuple(fc.constant(name), time, values[name] as fc.Arbitrary<number | string>)),
    { maxLength: 80 },
  ),
  format: fc.constantFrom(...historyFormats),
  layout: fc.constantFrom(...layouts),
  // Milliseconds below 1e11 would be read as seconds, and numbers before 2000 are refused.
  times: fc.constantFrom<TimeStyle>("utc", { timezone: "Asia/Shanghai" }, { timezone: "America/St_Johns" }),
  gzip: fc.boolean(),
});

let devices = 0;

function newDevice(): { deviceID: string; series: SeriesRef[] } {
  const deviceID = `=d"${process.pid}-${++devices}`;
  const series = points.map(({ name, kind }) => ({
    tenant: 1,
    productID: "Pr0duc",
    deviceID,
    field: name,
    kind,
  }));
  return { deviceID, series };
}

function batchOf(series: readonly SeriesRef[], rows: Case["rows"]): SeriesPointBatch {
  const texts: string[] = [];
  const columns = rows.map(([name, at, value]) => ({
    place: points.findIndex((point) => point.name === name),
    at,
    value: typeof value === "string" ? texts.push(value) - 1 : value,
  }));
  return {
    series,
    texts,
    seriesAt: Int32Array.from(columns, ({ place }) => place),
    times: Float64Array.from(columns, ({ at }) => at),
    values: Float64Array.from(columns, ({ value }) => value),
  };
}

async function exportTo(path: string, store: SeriesStore, from: ReturnType<typeof newDevice>, form: Case) {
  const device = {
    deviceID: from.deviceID,
    points: points.map(({ name, form: shown }, series) => ({ dataPointID: name, form: shown, series })),
  };
  const plan = {
    format: form.format,
    layout: form.layout,
    times: form.times,
    gzip: form.gzip,
    devices: [device],
  };
  const stream = await openExport(store, { plan, series: from.series, range: {}, closed: () => undefined });
  const unpack = form.gzip ? [createGunzip()] : [];
  await pipeline([Readable.fromWeb(stream as never), ...unpack, createWriteStream(path)]);
}

async function importFrom(
  path: string,
  format: HistoryFormat,
  store: SeriesStore,
  series: readonly SeriesRef[],
) {
  let places: number[] = [];
  await readHistory(
    { path, format },
    null,
    { local: () => null, bounds: { earliest: earliestTime, oldest: earliestTime, newest: latestTime } },
    {
      resolve: async (names) =>
        names.map(({ dataPointID }) => {
          const place = points.findIndex(({ name }) => name === dataPointID);
          places.push(place);
          return { type: points[place]?.type ?? 0, allowed: null };
        }),
      batch: async ({ targetAt, times, values: numbers, texts, bad }) => {
        assert.equal(bad, []);
        const seriesAt = targetAt.map((target) => places[target] ?? -1);
        assert.equal(await store.writeBatch({ series, seriesAt, times, values: numbers, texts }), []);
      },
      reset: async () => {
        places = [];
      },
    },
  );
}

async function holds(store: SeriesStore, dir: string, one: Case): Promise<void> {
  const [from, to] = [newDevice(), newDevice()];
  assert.equal(await store.writeBatch(batchOf(from.series, one.rows)), []);
  const path = join(dir, "rows");
  await exportTo(path, store, from, one);
  await importFrom(path, one.format, store, to.series);
  for (const [place, ref] of from.series.entries()) {
    const [before, after] = [await store.read(ref, {}), await store.read(to.series[place] as SeriesRef, {})];
    const what = `${ref.field} as ${one.format} ${one.layout}`;
    assert.equal([...after.times], [...before.times], what);
    assert.ok(
      [...before.values].every((value, i) => Object.is(value, after.values[i])),
      `${what}: ${JSON.stringify([...before.values])} became ${JSON.stringify([...after.values])}`,
    );
  }
}

function defineProperty(test: Test, open: (dir: string) => Promise<SeriesStore>, numRuns: number): void {
  test("a file out and in again", async () => {
    const folder = await openTempDir();
    const store = await open(folder.path);
    try {
      const property = fc.asyncProperty(cases, (one) => holds(store, folder.path, one));
      await fc.assert(property, { numRuns, endOnFailure: true, interruptAfterTimeLimit: 60_000 });
    } finally {
      await store.close();
      await folder.close();
    }
  });
}

suite("history out and in, embedded engine", (test) => {
  defineProperty(
    test,
    (dir) => openLibsqlSeriesStore({ dir: join(dir, "series"), memtablePointsMax: 100 }),
    60,
  );
});

influxSuite("history out and in, InfluxDB", (test, influx) => {
  const checkpoint = () => ({ read: async () => 0, write: async () => {} });
  const open = async () =>
    openInfluxSeriesStore({ ...(await influx()), firstShard: 0, checkpoint, ledger: memoryLedger() });
  defineProperty(test, open, 25);
});
