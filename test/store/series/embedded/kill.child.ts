/**
 * Plays numbered batches, of two journals in turn, into a store from its checkpoints on, until it is killed or done.
 * Each line on standard output is a batch that was taken, or "removed".
 */

import { idsPerShard } from "../../../../store/journal/shard-ids.js";
import { openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import type { Point, SeriesRef, SeriesStore } from "../../../../store/series/series.js";

export const KILL_BATCHES = 120;
const KILL_REMOVED_AT = 60;
const SERIES = 24;
const POINTS = 300;
const DAY = 86_400_000_000;
const FEBRUARY = Date.UTC(2024, 1, 1) * 1000;

/** Flushes of some batches, and files that are cut at every month. */
export const KILL_OPTIONS = { memtablePointsMax: 2000, readers: 1, partBytesMin: 0 };

export const killSeries: readonly SeriesRef[] = Array.from({ length: SERIES }, (_, i) => ({
  tenant: 1,
  productID: "p",
  deviceID: i === 0 ? "gone" : `d${i % 5}`,
  field: `f${i}`,
  kind: "number",
}));

/** Batch n: mostly new times, a day on, some rewritten, some up to seven weeks late; the value is n. */
export function killBatch(n: number): Point[] {
  return Array.from({ length: POINTS }, (_, i) => {
    const late = i % 7 === 0 ? (n * 13) % 50 : 0;
    const which = n > KILL_REMOVED_AT ? 1 + (i % (SERIES - 1)) : i % SERIES;
    const time = FEBRUARY + (n - 60 - late) * DAY + Math.floor(i / SERIES);
    return {
      series: killSeries[which] ?? (killSeries[0] as SeriesRef),
      time,
      value: n,
      serverStamped: false,
    };
  });
}

const killShards = [0, 12] as const;
const idOf = (n: number): number => (killShards[n % 2] ?? 0) * idsPerShard + n;

/** The number of the last batch of each journal that the store has in its files. */
export async function killCheckpoints(store: SeriesStore): Promise<[number, number]> {
  const [even, odd] = killShards;
  return [await store.checkpoint(even), (await store.checkpoint(odd)) % idsPerShard];
}

async function play(dir: string): Promise<void> {
  const store = await openLibsqlSeriesStore({ dir, ...KILL_OPTIONS });
  for (let n = Math.max(...(await killCheckpoints(store))) + 1; n <= KILL_BATCHES; n++) {
    await store.write(killBatch(n), idOf(n));
    process.stdout.write(`${n}\n`);
    if (n !== KILL_REMOVED_AT) continue;
    await store.removeDevices([{ tenant: 1, productID: "p", deviceID: "gone" }]);
    process.stdout.write("removed\n");
  }
  await store.close();
}

const dir = process.argv[2];
if (process.argv[1] === new URL(import.meta.url).pathname && dir !== undefined) await play(dir);
