/** What has been told lately, while an old stream and a new one bring the same. */

interface Recent {
  /** From now on there are two, for a while. */
  begin(): void;
  isNew(item: unknown): boolean;
}

const heldMs = 5_000;
const itemsMax = 5_000;

export function createRecent(now: () => number): Recent {
  const told = new Set<string>();
  let until = Number.NEGATIVE_INFINITY;
  return {
    begin: () => {
      until = now() + heldMs;
    },
    isNew: (item) => {
      if (now() >= until) {
        told.clear();
        return true;
      }
      const text = JSON.stringify(item);
      if (told.has(text)) return false;
      told.add(text);
      const [oldest] = told;
      if (told.size > itemsMax && oldest !== undefined) told.delete(oldest);
      return true;
    },
  };
}
