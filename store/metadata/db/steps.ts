import { createSlice, sliceMs } from "../../lib/turns.js";
import type { Condition, Db } from "./sql.js";

/** Long work over rows, a statement at a time: as many rows in each as hold the thread for about a slice. */
export interface Steps {
  /** Rows of the next statement. */
  readonly rows: number;
  /** Runs a statement over that many rows; others get their turn after it. */
  run<T>(statement: () => Promise<T>): Promise<T>;
}

/** A statement has a cost of its own too: fewer rows would only make more of them. */
const least = 16;

/** @param first rows of the first statement; @param most of any */
export function createSteps(first: number, most: number): Steps {
  const slice = createSlice();
  let rows = first;
  return {
    get rows() {
      return rows;
    },
    run: async (statement) => {
      // What a remote store takes is no time of this thread.
      const before = performance.eventLoopUtilization();
      const result = await statement();
      const { active } = performance.eventLoopUtilization(before);
      // By halves: what has held the thread once may have been something else.
      if (active > sliceMs) rows = Math.max(Math.min(least, first), Math.floor(rows / 2));
      else if (active < sliceMs / 2) rows = Math.min(most, rows * 2);
      if (slice.isOver()) await slice.next();
      return result;
    },
  };
}

/**
 * Spans of record ids [from, before), newest first, of as many rows each as `steps` says then; `where` of a table `r`.
 */
export async function* spansOf(
  db: Db,
  table: string,
  where: Condition,
  steps: Steps,
): AsyncGenerator<{ readonly from: number; readonly before: number }> {
  for (let before = Number.MAX_SAFE_INTEGER; before > 0; ) {
    const last = await db.first<{ id: number }>(
      `select r.id from ${table} r where ${where.sql} and r.id < ? order by r.id desc limit 1 offset ?`,
      [...where.args, before, steps.rows - 1],
    );
    const from = last?.id ?? 0;
    yield { from, before };
    before = from;
  }
}
