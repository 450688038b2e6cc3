import { createPacer, createSlice } from "../lib/scheduling.js";
import { stepRecords } from "./event-pages.js";
import type { EventRow, EventSequence } from "./event-sequence.js";

/** One sequence on its way: the row at `at` is its head. */
interface Cursor {
  readonly batches: AsyncGenerator<EventRow[], void>;
  rows: readonly EventRow[];
  at: number;
}

/**
 * Visits the rows of several sequences, after those that are `taken` of each: always the head that was received last,
 * of two at the same time that of the sequence which stands first. Ends when `visit` returns false.
 */
export async function visitMerged(
  sequences: readonly EventSequence[],
  taken: readonly number[],
  rowsAtFirst: number,
  visit: (row: EventRow) => boolean,
): Promise<void> {
  const cursors = sequences.map(
    (one, i): Cursor => ({ batches: one.rows(taken[i] ?? 0, rowsAtFirst), rows: [], at: 0 }),
  );
  const slice = createSlice();
  const inTurn = createPacer();
  try {
    // Each begins in its turn, and then none waits for another's disk.
    const begin = async (cursor: Cursor): Promise<void> => {
      const { loading } = await inTurn(() => ({ loading: load(cursor) }));
      await loading;
    };
    await Promise.all(cursors.map(begin));
    for (let looked = 0; ; looked++) {
      if (looked % stepRecords === 0 && slice.isOver()) await slice.next();
      const next = findNewest(cursors);
      const row = next?.rows[next.at];
      if (next === null || row === undefined || !visit(row)) return;
      next.at++;
      if (next.at === next.rows.length) await load(next);
    }
  } finally {
    // A sequence that is not read to its end holds a file open.
    await Promise.all(cursors.map(({ batches }) => batches.return()));
  }
}

async function load(cursor: Cursor): Promise<void> {
  const next = await cursor.batches.next();
  cursor.rows = next.value ?? [];
  cursor.at = 0;
}

/** Null once all are at their end. */
function findNewest(cursors: readonly Cursor[]): Cursor | null {
  let newest: Cursor | null = null;
  let time = Number.NEGATIVE_INFINITY;
  for (const cursor of cursors) {
    const head = cursor.rows[cursor.at];
    if (head !== undefined && (newest === null || head.receivedAt > time)) {
      newest = cursor;
      time = head.receivedAt;
    }
  }
  return newest;
}
