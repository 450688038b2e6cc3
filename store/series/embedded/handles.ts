import type { SeriesRef } from "../series.js";
import { formatSeriesName } from "./names.js";
import type { Definitions } from "./protocol.js";

export interface Handles {
  /** The number of a series in this process; -1 for a name that a file could not hold. */
  of(series: SeriesRef): number;
  /** Series numbered since the last call: they travel with the next message to the writer. */
  fresh(): Definitions | null;
}

/** Numbers series by the identity of the reference; the writer brings equal names together again. */
export function createHandles(): Handles {
  const handles = new WeakMap<SeriesRef, number>();
  let names: string[] = [];
  let next = 0;

  return {
    of: (series) => {
      const known = handles.get(series);
      if (known !== undefined) return known;
      const name = formatSeriesName(series);
      const handle = name === undefined ? -1 : next++;
      handles.set(series, handle);
      if (name !== undefined) names.push(name);
      return handle;
    },
    fresh: () => {
      if (names.length === 0) return null;
      const definitions = { first: next - names.length, names };
      names = [];
      return definitions;
    },
  };
}
