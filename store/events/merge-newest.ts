import type { JournalRecord } from "../journal/record.js";

/** Whether the first of two records, each the head of its list, comes before the other. */
type Precedes = (one: JournalRecord, other: JournalRecord) => boolean;

/** Within one journal: its ids say what came later, whatever its clock said. */
export const byID: Precedes = (one, other) => one.id > other.id;

/** Over several journals, whose ids say nothing of each other. */
export const byReceipt: Precedes = (one, other) =>
  one.receivedAt > other.receivedAt || (one.receivedAt === other.receivedAt && one.id > other.id);

/**
 * Merges lists that are each newest first, up to `recordsMax` records, read as they are taken. Each list keeps its
 * order. One that fails fails the whole.
 */
export async function* mergeNewest(
  lists: readonly AsyncIterable<JournalRecord>[],
  precedes: Precedes,
  recordsMax = Number.POSITIVE_INFINITY,
): AsyncGenerator<JournalRecord, void> {
  const iterators = lists.map((list) => list[Symbol.asyncIterator]());
  try {
    const heads = await Promise.all(iterators.map((iterator) => iterator.next()));
    for (let count = 0; count < recordsMax; count++) {
      let newest = -1;
      for (const [i, head] of heads.entries()) {
        const best = heads[newest];
        if (!head.done && (best === undefined || best.done || precedes(head.value, best.value))) newest = i;
      }
      const head = heads[newest];
      const iterator = iterators[newest];
      if (head === undefined || head.done || iterator === undefined) return;
      yield head.value;
      heads[newest] = await iterator.next();
    }
  } finally {
    // A list that is not read to its end holds a file open.
    await Promise.all(iterators.map((iterator) => iterator.return?.()));
  }
}
