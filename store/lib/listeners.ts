/** A list of listeners for one kind of event. */
interface Listeners<Args extends readonly unknown[]> {
  /** Returns what ends it. */
  add(listener: (...args: Args) => void): () => void;
  tell(...args: Args): void;
}

export function createListenerSet<Args extends readonly unknown[]>(): Listeners<Args> {
  const all = new Set<(...args: Args) => void>();
  return {
    add: (listener) => {
      all.add(listener);
      return () => void all.delete(listener);
    },
    tell: (...args) => {
      for (const listener of all) listener(...args);
    },
  };
}
