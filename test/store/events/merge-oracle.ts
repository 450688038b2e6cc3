/** Where a merge of sequences puts each record, calculated without merging. */

interface Placed<Item> {
  readonly item: Item;
  readonly shard: number;
  /** The lowest time of receipt from the begin of its sequence to the item: it cannot come before those in front. */
  readonly turn: number;
  readonly nth: number;
}

/** The items of all sequences, each newest first, in the order of a list over all of them. */
export function inMergedOrder<Item>(
  sequences: readonly { readonly shard: number; readonly items: readonly Item[] }[],
  receivedAt: (item: Item) => number,
): Item[] {
  const placed = sequences.flatMap(({ shard, items }): Placed<Item>[] =>
    items.map((item, nth) => {
      const turn = Math.min(...items.slice(0, nth + 1).map(receivedAt));
      return { item, shard, turn, nth };
    }),
  );
  return placed.sort((a, b) => b.turn - a.turn || b.shard - a.shard || a.nth - b.nth).map(({ item }) => item);
}
