import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import type { Point, SeriesRef, SeriesStore } from "../../store/series/series.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";

const seriesCount = 1000;
const pointsPerWrite = 5000;
/** Writes under way at once. */
const lanes = 4;
const daysOld = 27;
const oldPoints = { full: 50_000_000, quick: 10_000_000 } as const;
/** As the service opens it. */
const memtablePointsMax = 500_000;
const month = Date.UTC(2024, 0, 1) * 1000;
const limit = month + daysOld * 86_400e6;

const series = Array.from(
  { length: seriesCount },
  (_, i): SeriesRef => ({ tenant: 1, productID: "p", deviceID: `d${i}`, field: "n", kind: "number" }),
);

/**
 * Points written a second into the embedded store at rest, and while a removal takes most of a month out of its
 * file: the step of the retention that costs most.
 */
export async function benchRetention({ dir, seconds, quick }: BenchOptions): Promise<Figure[]> {
  const folder = await mkdtemp(join(dir, "retention-"));
  const store = await openLibsqlSeriesStore({ dir: folder, memtablePointsMax });
  const count = quick ? oldPoints.quick : oldPoints.full;
  progress(`retention: ${count} points that are to go`);
  await fill(store, count);
  const writer = createWriter(store);
  const atRest = () => {
    progress("retention: writes at rest");
    const until = performance.now() + seconds * 1000;
    return writer.run(() => performance.now() >= until);
  };
  const before = await atRest();
  progress("retention: writes beside the removal");
  let removed = false;
  const removal = store.removeBefore(limit).finally(() => {
    removed = true;
  });
  const beside = await writer.run(() => removed);
  await removal;
  const after = await atRest();
  await store.close();
  await rm(folder, { recursive: true });
  const baseline = "written before";
  const during = figure("written while old points go", beside);
  const removing = { "removal s": beside.seconds, "removed points/s": count / beside.seconds };
  return [
    figure(baseline, before),
    { ...during, baseline, detail: { ...during.detail, ...removing } },
    { ...figure("written after it", after), baseline },
  ];
}

function figure(name: string, { rate, longestMs }: Written): Figure {
  return { name, value: rate, unit: "points/s", detail: { "longest write ms": longestMs } };
}

/** Points of all series in the days before the limit, all in one month, on the disk. */
async function fill(store: SeriesStore, count: number): Promise<void> {
  const perSeries = count / seriesCount;
  const step = Math.floor((limit - month) / perSeries);
  for (let at = 0; at < perSeries; at += pointsPerWrite) {
    for (const one of series) {
      const n = Math.min(pointsPerWrite, perSeries - at);
      const times = Float64Array.from({ length: n }, (_, i) => month + (at + i) * step);
      const values = times.map((_, i) => 20 + (i % 1000) / 100);
      await store.writeBatch({ series: [one], seriesAt: new Int32Array(n), times, values, texts: [] });
    }
  }
  await store.flush();
}

interface Written {
  readonly rate: number;
  readonly seconds: number;
  readonly longestMs: number;
}

/** Writes points of all series in time order, beyond the limit, until it is ended. */
function createWriter(store: SeriesStore) {
  let n = 0;
  const next = (): Point[] =>
    Array.from({ length: pointsPerWrite }, () => {
      const at = n++;
      const time = limit + Math.floor(at / seriesCount) * 1e6;
      const one = series[at % seriesCount] as SeriesRef;
      return { series: one, time, value: 20 + (at % 977) / 100, serverStamped: false };
    });
  return {
    run: async (isOver: () => boolean): Promise<Written> => {
      const started = performance.now();
      let points = 0;
      let longestMs = 0;
      const lane = async () => {
        while (!isOver()) {
          const asked = performance.now();
          await store.write(next(), 0);
          longestMs = Math.max(longestMs, performance.now() - asked);
          points += pointsPerWrite;
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      const seconds = (performance.now() - started) / 1000;
      return { rate: points / seconds, seconds, longestMs };
    },
  };
}
