import type { SeriesKey } from "./names.js";

/** Points of [start, stop) that were lost with what held them; microseconds. */
export interface Gap {
  readonly id: number;
  readonly start: number;
  readonly stop: number;
  /** Null: of every series. */
  readonly series: SeriesKey | null;
}
