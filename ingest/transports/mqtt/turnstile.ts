/** Lets a bounded number in at once; the others wait in the order of their coming. */
export interface Turnstile<T> {
  enter(one: T): void;
  /** Whether it was in or still waiting. */
  leave(one: T): void;
  readonly inside: number;
  readonly waiting: number;
}

export function createTurnstile<T>(insideMax: number, begin: (one: T) => void): Turnstile<T> {
  const inside = new Set<T>();
  const waiting = new Set<T>();

  function letIn(one: T): void {
    inside.add(one);
    begin(one);
  }

  return {
    enter: (one) => {
      if (inside.size < insideMax) letIn(one);
      else waiting.add(one);
    },
    leave: (one) => {
      if (!inside.delete(one)) {
        waiting.delete(one);
        return;
      }
      for (const next of waiting) {
        waiting.delete(next);
        letIn(next);
        break;
      }
    },
    get inside() {
      return inside.size;
    },
    get waiting() {
      return waiting.size;
    },
  };
}
