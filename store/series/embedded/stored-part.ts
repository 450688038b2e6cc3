/** A file of points as the writer knows it, and the span of time that it stands for. */

import { StoreError } from "../../lib/errors.js";
import type { CatalogPart } from "./catalog-schema.js";
import { toMonth } from "./months.js";
import type { SeriesSet } from "./series-set.js";

export interface StoredPart extends CatalogPart {
  start: number;
  stop: number;
  path: string;
  /** Flushes into it since it was last compacted. */
  loose: number;
  /** When this process last wrote points into it (monotonic milliseconds); -Infinity when it has not. */
  writtenAt: number;
  /** The size of its file, roughly. */
  bytes: number;
  /** The series that it may hold; null where that is not known yet, so that it may hold any. */
  held: SeriesSet | null;
  /** What a survey of the file has found so far, and what was written meanwhile; null: no survey is under way. */
  looking: SeriesSet | null;
  /** First and last time in its file when that was looked at; null: it was empty, undefined: nobody has looked. */
  stored: Times | null | undefined;
  /** First and last time that this process has written, or is about to write; null: it has written nothing. */
  coming: Times | null;
  /** First and last time that completed flushes have written; null: nothing, undefined: not known. */
  flushed: Times | null | undefined;
  /** The version of its file in the catalog's record of `held`; null: something is not on record yet. */
  recorded: string | null;
}

/** First and last, both included. */
export interface Times {
  readonly low: number;
  readonly high: number;
}

/** The file of a part is damaged: what can be read of it must move before anything is written. */
export class DamagedPart extends StoreError {
  constructor(
    readonly part: StoredPart,
    readonly fault: string,
  ) {
    super("CORRUPT", `cannot use ${part.path}: ${fault}`);
  }
}

/** A part of which only span and path are known. */
export const unknownPart = ({ start, stop, path }: CatalogPart): StoredPart => ({
  start,
  stop,
  path,
  loose: 0,
  writtenAt: Number.NEGATIVE_INFINITY,
  bytes: 0,
  held: null,
  looking: null,
  stored: undefined,
  coming: null,
  flushed: undefined,
  recorded: "",
});

/** From the earlier first to the later last. */
export function joinTimes(a: Times | null, b: Times | null): Times | null {
  if (a === null || b === null) return a ?? b;
  return { low: Math.min(a.low, b.low), high: Math.max(a.high, b.high) };
}

/** The span that is lost with the part: as far as known, the months of what was flushed into it or is about to be. */
export function lostWith({ start, stop, path, flushed, coming }: StoredPart): CatalogPart {
  if (flushed === null || flushed === undefined) return { start, stop, path };
  const times = joinTimes(flushed, coming) ?? flushed;
  const [low, high] = [toMonth(times.low).start, toMonth(times.high).stop];
  return { start: Math.max(start, low), stop: Math.min(stop, high), path };
}
