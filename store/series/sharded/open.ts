/** Several stores as one: a shard's points are in one of them, and with them a device's. */
import { shardOfID } from "../../journal/shard-ids.js";
import { joinRemoved } from "../removed-points.js";
import type { DeviceKey, Point, RefusedAt, RefusedPoint, SeriesPointBatch, SeriesStore } from "../series.js";
import type { SeriesPlaces } from "./places.js";
import { createShardedReader } from "./queries.js";

/** @param stores in the order of the places; they are closed with this one */
export function createShardedSeries(stores: readonly SeriesStore[], places: SeriesPlaces): SeriesStore {
  const at = (place: number): SeriesStore => {
    const store = stores[place];
    if (store === undefined) throw new RangeError(`there is no store ${place}`);
    return store;
  };
  /** All are asked, though one fails. */
  const each = async <T>(ask: (store: SeriesStore, place: number) => Promise<T>): Promise<T[]> => {
    const ends = await Promise.allSettled(stores.map(ask));
    return ends.map((end) => {
      if (end.status === "rejected") throw end.reason;
      return end.value;
    });
  };
  const takesNow = async <D extends DeviceKey>(devices: readonly D[]): Promise<Map<D, number>> => {
    const found = await places.ofDevices(devices);
    return new Map(devices.map((device, i) => [device, found[i]?.[0] ?? 0]));
  };
  const ofShard = (shard: number): SeriesStore => at(places.ofShard(shard));

  /** Points of no journal. */
  async function writeByDevice(points: readonly Point[]): Promise<RefusedPoint[]> {
    const placeBySeries = await takesNow([...new Set(points.map(({ series }) => series))]);
    const refused = await each((store) => {
      const own = points.filter(({ series }) => stores[placeBySeries.get(series) ?? 0] === store);
      return own.length === 0 ? Promise.resolve([]) : store.write(own, 0);
    });
    return refused.flat();
  }

  async function writeBatch(batch: SeriesPointBatch): Promise<readonly RefusedAt[]> {
    const placeBySeries = await takesNow(batch.series);
    const placeAt = batch.series.map((series) => placeBySeries.get(series) ?? 0);
    const refused = await each(async (store, place) => {
      const own = findIndexes(batch, placeAt, place);
      if (own.length === 0) return [];
      const some = await store.writeBatch(own.length === batch.times.length ? batch : selectPart(batch, own));
      return some.map(({ index, reason }) => ({ index: own[index] ?? 0, reason }));
    });
    return refused.flat().sort((a, b) => a.index - b.index);
  }

  return {
    checkpoint: (shard) => (shard === undefined ? at(0).checkpoint() : ofShard(shard).checkpoint(shard)),
    write: (points, through, stampedBy) => {
      const shard = through > 0 ? shardOfID(through) : stampedBy;
      return shard === undefined ? writeByDevice(points) : ofShard(shard).write(points, through, shard);
    },
    writeBatch,
    flush: async () => void (await each((store) => store.flush())),
    letGo: (shard) => ofShard(shard).letGo(shard),
    ...createShardedReader(stores, places),
    under: (signal) =>
      createShardedReader(
        stores.map((store) => store.under(signal)),
        places,
      ),
    whichHavePoints: async (devices) => {
      const found = await each((store) => store.whichHavePoints(devices));
      return devices.map((_, i) => found.some((answer) => answer[i] === true));
    },
    removeDevices: async (devices) => void (await each((store) => store.removeDevices(devices))),
    removeFields: async (fields) => void (await each((store) => store.removeFields(fields))),
    removeBefore: async (time) => {
      const removed = await each((store) => store.removeBefore(time));
      return removed.reduce((one, other) => one && other && joinRemoved(one, other));
    },
    close: async () => void (await each((store) => store.close())),
  };
}

/** The points of a batch whose series are of that place. */
function findIndexes({ seriesAt }: SeriesPointBatch, placeAt: readonly number[], place: number): number[] {
  const own: number[] = [];
  for (const [index, series] of seriesAt.entries()) if (placeAt[series] === place) own.push(index);
  return own;
}

function selectPart(
  { series, texts, ...columns }: SeriesPointBatch,
  own: readonly number[],
): SeriesPointBatch {
  return {
    series,
    texts,
    seriesAt: Int32Array.from(own, (index) => columns.seriesAt[index] ?? 0),
    times: Float64Array.from(own, (index) => columns.times[index] ?? 0),
    values: Float64Array.from(own, (index) => columns.values[index] ?? 0),
  };
}
