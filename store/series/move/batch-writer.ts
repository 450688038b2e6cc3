/** Gathers points of many series into batches of a good size, and writes one while the next is gathered. */

import { textBytes } from "../../lib/text-bytes.js";
import type { Columns, SeriesPointBatch, SeriesRef, SeriesStore } from "../series.js";

interface RefusedSeriesPoint {
  readonly series: SeriesRef;
  readonly reason: string;
}

interface BatchWriter {
  /** Takes the points of one series whose times are not known yet. Waits while a full batch waits for the one before. */
  add(series: SeriesRef, columns: Columns, isKnown: (time: number) => boolean): Promise<void>;
  /** Writes the rest. @throws whatever the store threw */
  end(): Promise<{ readonly written: number; readonly refused: readonly RefusedSeriesPoint[] }>;
}

const pointsMax = 20_000;
const textsMaxBytes = 4 << 20;

/** Columns in the making. */
interface Draft {
  readonly series: SeriesRef[];
  readonly places: Map<SeriesRef, number>;
  readonly seriesAt: Int32Array;
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly texts: string[];
  length: number;
  bytes: number;
}

const newDraft = (): Draft => ({
  series: [],
  places: new Map(),
  seriesAt: new Int32Array(pointsMax),
  times: new Float64Array(pointsMax),
  values: new Float64Array(pointsMax),
  texts: [],
  length: 0,
  bytes: 0,
});

const toBatch = ({ series, texts, length, ...columns }: Draft): SeriesPointBatch => ({
  series,
  texts,
  seriesAt: columns.seriesAt.slice(0, length),
  times: columns.times.slice(0, length),
  values: columns.values.slice(0, length),
});

export function createBatchWriter(store: Pick<SeriesStore, "writeBatch">): BatchWriter {
  let draft = newDraft();
  let written = 0;
  const refused: RefusedSeriesPoint[] = [];
  let writing: Promise<void> = Promise.resolve();

  async function write({ series, seriesAt, ...batch }: SeriesPointBatch): Promise<void> {
    // The engine takes the columns over.
    const refs = seriesAt.slice();
    const bad = await store.writeBatch({ series, seriesAt, ...batch });
    written += refs.length - bad.length;
    for (const { index, reason } of bad) {
      const ref = series[refs[index] ?? -1];
      if (ref !== undefined) refused.push({ series: ref, reason });
    }
  }

  async function next(): Promise<void> {
    const full = draft;
    draft = newDraft();
    const before = writing;
    writing = before.then(() => write(toBatch(full)));
    // The next caller that awaits `writing` receives the error.
    writing.catch(() => undefined);
    await before;
  }

  return {
    add: async (series, columns, isKnown) => {
      for (let i = 0; i < columns.times.length; i++) {
        const time = columns.times[i] as number;
        if (isKnown(time)) continue;
        let place = draft.places.get(series);
        if (place === undefined) {
          place = draft.series.push(series) - 1;
          draft.places.set(series, place);
        }
        draft.seriesAt[draft.length] = place;
        draft.times[draft.length] = time;
        if (columns.kind === "text") {
          const text = columns.values[i] ?? "";
          draft.values[draft.length] = draft.texts.push(text) - 1;
          draft.bytes += textBytes(text);
        } else draft.values[draft.length] = columns.values[i] ?? Number.NaN;
        draft.length++;
        if (draft.length === pointsMax || draft.bytes >= textsMaxBytes) await next();
      }
    },
    end: async () => {
      await next();
      await writing;
      return { written, refused };
    },
  };
}
