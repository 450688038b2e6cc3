/** A turn of the loop accepts one connection, so that company comes with the turns that follow. */
const gatheringMs = 2;

/**
 * Reads one by one what is asked for, but together what is asked for within a moment: thousands of devices connect
 * at once, and a statement costs more than its rows. Nothing is remembered.
 */
export function createBatchLoader<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  keysMax: number,
): (key: Key) => Promise<Value | undefined> {
  let open: { readonly keys: Set<Key>; readonly found: Promise<ReadonlyMap<Key, Value>> } | null = null;

  return async (key) => {
    if (open === null || open.keys.size >= keysMax) {
      const keys = new Set<Key>();
      const found = new Promise((resolve) => setTimeout(resolve, gatheringMs)).then(() => {
        if (open?.keys === keys) open = null;
        return read([...keys]);
      });
      open = { keys, found };
    }
    open.keys.add(key);
    return (await open.found).get(key);
  };
}
