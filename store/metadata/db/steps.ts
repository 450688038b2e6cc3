import { createSlice, sliceMs } from "../../lib/scheduling.js";
import type { Condition, Db, SqlValue } from "./sql.js";

/** Long work over rows, statement by statement: each takes as many rows as hold a thread for about a slice. */
export interface Steps {
  /** Number of rows for the next statement. */
  readonly rows: number;
  /** Runs a step over that many rows; it reads by what it is given. Others' reads and other work get their turn. */
  run<T>(step: (all: Db["all"]) => Promise<T>): Promise<T>;
}

/** Each statement has a fixed cost too: fewer rows would only make more statements. */
const leastRows = 16;

/** @param first rows of the first statement; @param most and @param least rows of any statement */
export function createSteps(
  db: Pick<Db, "inStep">,
  first: number,
  most: number,
  least = Math.min(leastRows, first),
): Steps {
  const slice = createSlice();
  let rows = first;
  return {
    get rows() {
      return rows;
    },
    run: async (step) => {
      // Waiting holds nobody up, nor does what a remote store does.
      let heldMs = 0;
      let answeredAt = performance.now();
      const result = await step(async <Row>(sql: string, args: readonly SqlValue[] = []) => {
        const answer = await db.inStep<Row>(sql, args);
        heldMs += answer.ms;
        answeredAt = performance.now();
        return answer.rows;
      });
      heldMs += performance.now() - answeredAt;
      // Only halves the number: something else may have held the thread this once.
      if (heldMs > sliceMs) rows = Math.max(least, Math.floor(rows / 2));
      else if (heldMs < sliceMs / 2) rows = Math.min(most, rows * 2);
      if (slice.isOver()) await slice.next();
      return result;
    },
  };
}

/**
 * Spans of record ids [from, before), newest first, each of as many rows as `steps` then says. `rows` is that number,
 * or 0 for the last span; `where` applies to a table `r`.
 */
export async function* spansOf(
  db: Db,
  table: string,
  where: Condition,
  steps: Steps,
): AsyncGenerator<{ readonly from: number; readonly before: number; readonly rows: number }> {
  for (let before = Number.MAX_SAFE_INTEGER; before > 0; ) {
    const asked = steps.rows;
    const last = await db.first<{ id: number }>(
      `select r.id from ${table} r where ${where.sql} and r.id < ? order by r.id desc limit 1 offset ?`,
      [...where.args, before, asked - 1],
    );
    const from = last?.id ?? 0;
    yield { from, before, rows: last === undefined ? 0 : asked };
    before = from;
  }
}
