/** Points go from one store to another: any mixture of both, kills anywhere, refusals, and stores that are away. */
import { join } from "node:path";
import fc from "fast-check";
import { StoreError } from "../../../../store/lib/errors.js";
import { openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import {
  compareStores,
  copyPoints,
  type MoveCounts,
  type MovedDevice,
  type NotMoved,
  noCounts,
} from "../../../../store/series/move/move-points.js";
import type { Columns, Kind, SeriesRef, SeriesStore } from "../../../../store/series/series.js";
import { pointsOf } from "../../../contract/series.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const kinds: readonly Kind[] = ["number", "boolean", "text"];
const base = Date.UTC(2026, 0, 1) * 1000;

function device(id: number): MovedDevice {
  const series = kinds.map((kind) => ({
    tenant: 1,
    productID: "MOVED1",
    deviceID: `m-${id}`,
    field: kind,
    kind,
  }));
  return { id, series };
}

const sampleOf = (kind: Kind, n: number): number | boolean | string =>
  kind === "number" ? n / 4 : kind === "boolean" ? n % 2 === 0 : `text ${n}`;

async function put(store: SeriesStore, series: SeriesRef, times: readonly number[], from = 0): Promise<void> {
  const pairs = times.map((time): [number, number | boolean | string] => [
    base + time,
    sampleOf(series.kind, time + from),
  ]);
  await store.write(pointsOf(series, ...pairs), 0);
}

interface Stores {
  readonly from: SeriesStore;
  readonly to: SeriesStore;
}

async function withStores(action: (stores: Stores) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const [from, to] = await Promise.all(
      ["from", "to"].map((name) => openLibsqlSeriesStore({ dir: join(dir, name), readers: 1 })),
    );
    if (from === undefined || to === undefined) throw new Error("no stores");
    try {
      await action({ from, to });
    } finally {
      await from.close();
      await to.close();
    }
  });
}

async function* inGroups(devices: readonly MovedDevice[], after: number): AsyncGenerator<MovedDevice[]> {
  const left = devices.filter(({ id }) => id > after);
  for (let at = 0; at < left.length; at += 2) yield left.slice(at, at + 2);
}

interface Moved {
  readonly counts: MoveCounts;
  /** Refused, or not readable. */
  readonly notMoved: NotMoved[];
  /** Looked for afterwards, and not found. */
  readonly missing: NotMoved[];
}

async function moveAll({ from, to }: Stores, devices: readonly MovedDevice[]): Promise<Moved> {
  const notMoved: NotMoved[] = [];
  const missing: NotMoved[] = [];
  const shared = { from, to, signal: new AbortController().signal };
  const counts = await copyPoints(
    {
      ...shared,
      devices: inGroups(devices, 0),
      copied: async (_upTo, _counts, found) => {
        notMoved.push(...found);
      },
    },
    noCounts,
  );
  const points = await compareStores({
    ...shared,
    devices: inGroups(devices, 0),
    checked: (found) => missing.push(...found),
  });
  if (notMoved.length === 0) assert.is(points, counts.points);
  return { counts, notMoved, missing };
}

const plain = ({ times, values }: Columns): [number, number | string][] =>
  [...times].map((time, i) => [time - base, values[i] as number | string]);

const read = async (store: SeriesStore, series: SeriesRef) => plain(await store.read(series, {}));
const numbers = (of: MovedDevice): SeriesRef => of.series[0] as SeriesRef;

suite("points move between stores", (test) => {
  test("whatever both have, the target has all of it once, and its own values stay", () =>
    withStores(async (stores) => {
      const times = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 30 });
      let id = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(times, times), { minLength: 3, maxLength: 3 }), async (each) => {
          const one = device(++id);
          for (const [i, series] of one.series.entries()) {
            const [inSource = [], inTarget = []] = each[i] ?? [];
            await put(stores.from, series, inSource);
            await put(stores.to, series, inTarget, 1000);
          }
          const { counts, notMoved, missing } = await moveAll(stores, [one]);
          assert.equal([notMoved, missing], [[], []]);
          assert.is(
            counts.points,
            each.reduce((sum, [inSource]) => sum + inSource.length, 0),
          );
          for (const [i, series] of one.series.entries()) {
            const [inSource = [], inTarget = []] = each[i] ?? [];
            const own = new Set(inTarget);
            const expected = [...new Set([...inSource, ...inTarget])]
              .sort((a, b) => a - b)
              .map((time) => [time, stored(series.kind, own.has(time) ? time + 1000 : time)]);
            assert.equal(await read(stores.to, series), expected);
          }
          const again = await moveAll(stores, [one]);
          assert.is(again.counts.written, 0);
        }),
        { numRuns: 40 },
      );
    }));

  test("more points than a batch, of series that end in the midst of one, arrive in full", () =>
    withStores(async (stores) => {
      const devices = [1, 2, 3, 4, 5].map(device);
      const lengths = [30_001, 1, 9_999, 0, 20_000];
      for (const [i, one] of devices.entries()) {
        await put(
          stores.from,
          numbers(one),
          Array.from({ length: lengths[i] ?? 0 }, (_, n) => n),
        );
      }
      const { counts, notMoved, missing } = await moveAll(stores, devices);
      assert.equal(
        [counts, notMoved, missing],
        [{ devices: 5, series: 4, points: 60_001, written: 60_001, refused: 0 }, [], []],
      );
      for (const [i, one] of devices.entries()) {
        assert.is((await read(stores.to, numbers(one))).length, lengths[i]);
      }
    }));

  test("a store that is away is waited for, and what was begun is done again", () =>
    withStores(async ({ from, to }) => {
      const one = device(1);
      await put(from, numbers(one), [1, 2, 3]);
      let failures = 3;
      const away: SeriesStore = {
        ...to,
        writeBatch: async (batch) => {
          if (failures-- > 0) throw new StoreError("UNAVAILABLE", "cannot write: away");
          return to.writeBatch(batch);
        },
      };
      const { counts, notMoved } = await moveAll({ from, to: away }, [one]);
      assert.equal([counts.written, notMoved, failures], [3, [], -1]);
      assert.is((await read(to, numbers(one))).length, 3);
    }));

  test("what the target refuses or loses is named, and so is what cannot be read", () =>
    withStores(async ({ from, to }) => {
      const devices = [1, 2, 3].map(device);
      for (const one of devices) await put(from, numbers(one), [1, 2, 3]);
      const [first, second, third] = devices.map((one) => one.series[0]);
      const source: SeriesStore = {
        ...from,
        under: () => ({
          ...from,
          scan: (series, ...rest) => {
            if (series === third) throw new StoreError("MISMATCH", "cannot read: of another type");
            return from.scan(series, ...rest);
          },
        }),
      };
      const target: SeriesStore = {
        ...to,
        writeBatch: async (batch) => {
          const { series, seriesAt } = batch;
          const at = [...seriesAt].findIndex((place) => series[place] === first);
          const kept = [...seriesAt.keys()].filter(
            (i) => i !== at && series[seriesAt[i] as number] !== second,
          );
          await to.writeBatch({
            ...batch,
            seriesAt: Int32Array.from(kept, (i) => batch.seriesAt[i] as number),
            times: Float64Array.from(kept, (i) => batch.times[i] as number),
            values: Float64Array.from(kept, (i) => batch.values[i] as number),
          });
          return at < 0 ? [] : [{ index: at, reason: "too old" }];
        },
      };
      const { counts, notMoved, missing } = await moveAll({ from: source, to: target }, devices);
      assert.is(counts.refused, 1);
      const toldOf = (all: readonly NotMoved[]) => new Map(all.map(({ series, reason }) => [series, reason]));
      const [told, looked] = [toldOf(notMoved), toldOf(missing)];
      assert.is(told.get(first as SeriesRef), "too old");
      assert.is(told.get(third as SeriesRef), "cannot read: of another type");
      assert.is(looked.get(first as SeriesRef), "1 points are not in the other store");
      assert.is(looked.get(second as SeriesRef), "3 points are not in the other store");
      assert.is(looked.get(third as SeriesRef), "cannot read: of another type");
      assert.equal([notMoved.length, missing.length], [2, 3]);
    }));

  test("a point that is lost again is missed, however many others the target has", () =>
    withStores(async (stores) => {
      const [one] = [device(1)];
      await put(stores.from, numbers(one), [1, 2, 3]);
      await moveAll(stores, [one]);
      await stores.to.removeDevices([numbers(one)]);
      await put(stores.to, numbers(one), [0, 1, 3, 4, 5, 6]);
      const missing: NotMoved[] = [];
      await compareStores({
        ...stores,
        signal: new AbortController().signal,
        devices: inGroups([one], 0),
        checked: (found) => missing.push(...found),
      });
      assert.equal(
        missing.map(({ reason }) => reason),
        ["1 points are not in the other store"],
      );
    }));

  test("an abort ends it with its reason, and nothing is written afterwards", () =>
    withStores(async ({ from, to }) => {
      const devices = [1, 2, 3, 4].map(device);
      for (const one of devices) await put(from, numbers(one), [1, 2, 3]);
      const stop = new AbortController();
      const running = copyPoints(
        {
          from,
          to,
          devices: inGroups(devices, 0),
          signal: stop.signal,
          copied: async () => stop.abort(new Error("enough")),
        },
        noCounts,
      );
      assert.is(((await running.catch((error: Error) => error)) as Error).message, "enough");
      assert.is((await read(to, numbers(devices[3] as MovedDevice))).length, 0);
    }));
});

/** As columns have it. */
function stored(kind: Kind, n: number): number | string {
  const value = sampleOf(kind, n);
  return typeof value === "boolean" ? Number(value) : value;
}
