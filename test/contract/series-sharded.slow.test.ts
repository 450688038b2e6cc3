/** Points that are in two stores are answered as if they were in one. */
import { StoreError } from "../../store/lib/errors.js";
import { openLibsqlSeriesStore } from "../../store/series/embedded/open.js";
import { openInfluxSeriesStore } from "../../store/series/influx/open.js";
import type { Point, SeriesPointBatch, SeriesStore } from "../../store/series/series.js";
import { createShardedSeries } from "../../store/series/sharded/open.js";
import type { SeriesPlaces } from "../../store/series/sharded/places.js";
import { type InfluxServer, startInflux } from "../influxd/influxd.js";
import { memoryLedger } from "../influxd/ledger.js";
import { assert, influxSuite, openTempDir, rejects, suite } from "../suite.js";
import { defineSeriesContract, newSeries, pointsOf } from "./series.js";
import { defineProperty } from "./series-cases.js";
import { pairsOf } from "./series-oracle.js";

const base = Date.UTC(2025, 2, 1) * 1000;
const everywhere = [0, 1] as const;

/** Any device may have points in both. */
const bothPlaces: SeriesPlaces = {
  ofShard: (shard) => shard % 2,
  ofDevices: async (devices) => devices.map(() => everywhere),
};

/** Points at even and odd microseconds are in different stores, so that each series alternates between them. */
function alternating(stores: readonly SeriesStore[]): SeriesStore {
  const split = createShardedSeries(stores, bothPlaces);
  const isEven = ({ time }: Point): boolean => time % 2 === 0;
  return {
    ...split,
    write: async (points, through) => {
      const odd = await split.write(
        points.filter((point) => !isEven(point)),
        0,
        1,
      );
      const refused = [...odd, ...(await split.write(points.filter(isEven), through, 0))];
      return refused.sort((a, b) => points.indexOf(a.point) - points.indexOf(b.point));
    },
  };
}

/** The first batches of a device are in the one, the later ones, which count at the same times, in the other. */
function moving(stores: readonly SeriesStore[]): SeriesStore {
  const split = createShardedSeries(stores, bothPlaces);
  const batches = new Map<string, number>();
  return {
    ...split,
    write: (points) => {
      const device = points[0]?.series.deviceID ?? "";
      const before = batches.get(device) ?? 0;
      batches.set(device, before + 1);
      return split.write(points, 0, before < 2 ? 1 : 0);
    },
  };
}

suite("two series stores as one", (test) => {
  const folders: Awaited<ReturnType<typeof openTempDir>>[] = [];
  test.after(async () => {
    for (const folder of folders) await folder.close();
  });
  const openPair = async (dirs?: readonly string[]): Promise<SeriesStore[]> => {
    const stores: SeriesStore[] = [];
    for (const place of everywhere) {
      const dir = dirs?.[place] ?? (await newFolder());
      stores.push(await openLibsqlSeriesStore({ dir, memtablePointsMax: 500 }));
    }
    return stores;
  };
  const newFolder = async (): Promise<string> => {
    const folder = await openTempDir();
    folders.push(folder);
    return folder.path;
  };

  let dirs: string[] | undefined;
  defineSeriesContract(test, async () => {
    dirs ??= [await newFolder(), await newFolder()];
    return alternating(await openPair(dirs));
  });
  defineProperty(
    test,
    "answer what the oracle answers, while a device is in both",
    async () => [alternating(await openPair()), moving(await openPair())],
    40,
  );

  test("a device that has been in one only is asked for there alone", async () => {
    const [first, second] = (await openPair()) as [SeriesStore, SeriesStore];
    const placeOf = new Map<string, number>();
    const store = createShardedSeries([first, second], {
      ofShard: (shard) => shard,
      ofDevices: async (devices) => devices.map(({ deviceID }) => [placeOf.get(deviceID) ?? 0]),
    });
    const [here, there] = [newSeries(), newSeries()];
    placeOf.set(there.deviceID, 1);
    await store.write([...pointsOf(here, [base, 1]), ...pointsOf(there, [base, 2])], 0);
    const batch = {
      series: [here, there],
      seriesAt: Int32Array.of(0, 1, 1),
      times: Float64Array.of(base + 1, base + 1, base + 2),
      values: Float64Array.of(3, 4, 5),
      texts: [],
    };
    assert.equal(await store.writeBatch(batch), []);
    await second.close();
    assert.equal(pairsOf(await store.read(here, {})), [
      [base, 1],
      [base + 1, 3],
    ]);
    assert.equal(await store.latest([here]), [{ time: base + 1, value: 3 }]);
    await rejects(() => store.read(there, {}));
    await rejects(() => store.latest([here, there]));
    await first.close();
  });

  test("a batch that one refuses has ended at the other too before it may be built again", async () => {
    const [first, second] = (await openPair()) as [SeriesStore, SeriesStore];
    const [here, there] = [newSeries(), newSeries()];
    let goOn: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const away = { ...second, writeBatch: () => Promise.reject(new StoreError("UNAVAILABLE", "away")) };
    const late = {
      ...first,
      writeBatch: (batch: SeriesPointBatch) => slow.then(() => first.writeBatch(batch)),
    };
    const store = createShardedSeries([late, away], {
      ofShard: (shard) => shard,
      ofDevices: async (devices) => devices.map(({ deviceID }) => [deviceID === here.deviceID ? 0 : 1]),
    });
    let hasEnded = false;
    const writing = store
      .writeBatch({
        series: [here, there],
        seriesAt: Int32Array.of(0, 1),
        times: Float64Array.of(base, base),
        values: Float64Array.of(1, 2),
        texts: [],
      })
      .catch((error: unknown) => error)
      .finally(() => {
        hasEnded = true;
      });
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.is(hasEnded, false);
    goOn();
    assert.is(((await writing) as StoreError).message, "away");
    assert.equal(pairsOf(await first.read(here, {})), [[base, 1]]);
    await first.close();
    await second.close();
  });
});

influxSuite("two InfluxDBs as one", (test, influx) => {
  let other: InfluxServer | undefined;
  test.after(async () => other?.close());
  const openOn = ({ url, token, org, bucket }: InfluxServer): Promise<SeriesStore> =>
    openInfluxSeriesStore({
      ...{ url, token, org, bucket, firstShard: 0, ledger: memoryLedger(), timeoutMs: 10_000 },
      checkpoint: () => ({ read: async () => 0, write: async () => {} }),
    });
  const openPair = async (): Promise<SeriesStore[]> => {
    other ??= await startInflux();
    return Promise.all([openOn(await influx()), openOn(other)]);
  };

  defineProperty(
    test,
    "answer what the oracle answers, while a device is in both",
    async () => [moving(await openPair())],
    30,
  );
});
