/** Sends many requests, a few at once. */

/** The answers in the order of the items. */
export async function inParallel<Item, Found>(
  items: readonly Item[],
  atOnce: number,
  ask: (item: Item) => Promise<Found>,
): Promise<Found[]> {
  const found = new Array<Found>(items.length);
  const left = items.entries();
  async function work(): Promise<void> {
    for (const [i, item] of left) found[i] = await ask(item);
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return found;
}

type Queue = <Found>(signal: AbortSignal, ask: () => Promise<Found>) => Promise<Found>;

/** Asks in turn: so many at once, and each so many milliseconds after the one before. */
export function createQueue(atOnce: number, apartMs: number): Queue {
  const waiting: (() => void)[] = [];
  let [underWay, nextAt] = [0, 0];
  let timer: ReturnType<typeof setTimeout> | undefined;

  function next(): void {
    clearTimeout(timer);
    if (waiting.length === 0 || underWay >= atOnce) return;
    const now = performance.now();
    if (now < nextAt) {
      timer = setTimeout(next, nextAt - now);
      return;
    }
    nextAt = now + apartMs;
    underWay++;
    waiting.shift()?.();
    next();
  }

  return async (signal, ask) => {
    await new Promise<void>((begin) => {
      waiting.push(begin);
      next();
    });
    try {
      // A caller that was cancelled while it waited sends no request.
      signal.throwIfAborted();
      return await ask();
    } finally {
      underWay--;
      next();
    }
  };
}
