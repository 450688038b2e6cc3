/** Does `work` for each item, so many at once. The first that fails ends it. */
export async function inLanes<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  async function lane(): Promise<void> {
    for (let i = next++; i < items.length; i = next++) await work(items[i] as Item);
  }
  await Promise.all(Array.from({ length: lanes }, lane));
}
