/** Remembers recent events while an old stream and a new one bring the same ones, to drop duplicates. */

interface Recent {
  /** From now on there are two, for a while. */
  begin(): void;
  isNew(item: unknown): boolean;
}

const heldMs = 5_000;
const itemsMax = 5_000;

export function createRecent(now: () => number): Recent {
  const seen = new Set<string>();
  let until = Number.NEGATIVE_INFINITY;
  return {
    begin: () => {
      until = now() + heldMs;
    },
    isNew: (item) => {
      if (now() >= until) {
        seen.clear();
        return true;
      }
      const text = JSON.stringify(item);
      if (seen.has(text)) return false;
      seen.add(text);
      const [oldest] = seen;
      if (seen.size > itemsMax && oldest !== undefined) seen.delete(oldest);
      return true;
    },
  };
}
