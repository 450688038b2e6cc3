/** Only our own points are answered. Where some of ours were refused, the query fails instead of finding nothing. */

import type { AggregateQuery, SeriesRef } from "../series.js";
import type { Bounds, ReadablePart } from "./conflict-register.js";
import { type Conflicts, mismatch } from "./conflicts.js";
import { ForeignValue } from "./csv.js";

interface TypeGuard {
  /** The answer. @throws StoreError MISMATCH, naming the series, where the engine holds another type */
  named<T>(series: SeriesRef, ask: () => Promise<T>): Promise<T>;
  /** The range as far as the engine may be asked. @throws StoreError MISMATCH where points in it have been refused */
  whole(series: SeriesRef, range: Bounds): ReadablePart;
  /** Asks for the windows that end before what cannot be read. @throws StoreError MISMATCH */
  windowed<Q extends AggregateQuery, T>(query: Q, ask: (query: Q) => Promise<T>): Promise<T>;
}

export function createTypeGuard(bucket: string, conflicts: Pick<Conflicts, "part">): TypeGuard {
  async function named<T>(series: SeriesRef, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw error instanceof ForeignValue ? mismatch(bucket, series, error.heldAs) : error;
    }
  }

  function whole(series: SeriesRef, range: Bounds): ReadablePart {
    const part = conflicts.part(series, range, "newest");
    if (part.conflict !== undefined) throw mismatch(bucket, series, part.conflict.heldAs);
    return part;
  }

  return {
    named,
    whole,
    windowed: (query, ask) => {
      const { series, edges } = query;
      const last = edges.at(-1) ?? 0;
      const { stop } = whole(series, { start: edges[0], stop: last });
      const part = stop < last ? { edges: [...edges.filter((edge) => edge < stop), stop] } : {};
      return named(series, () => ask({ ...query, ...part }));
    },
  };
}
