/** Runs works one after the other in the order of asking; a failure does not stop the next. */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

export function createLock(): Lock {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

/** Milliseconds that a piece of work may hold the thread before it lets others in. */
export const sliceMs = 4;

/** Ends this turn of the loop: whatever waits (packets, requests, timers) goes first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Works whose slice is over. Only one goes on in each turn, since many together would hold the thread for many slices.
 */
const waiting: (() => void)[] = [];

function letOneGoOn(): void {
  const goOn = waiting.shift();
  if (waiting.length > 0) setImmediate(letOneGoOn);
  goOn?.();
}

const nextOwnTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGoOn);
  });

/**
 * The clock of work in slices, for loops whose length comes from outside. Between two steps:
 * `if (slice.isOver()) await slice.next();`
 */
interface Slice {
  /** Whether the work has used up its slice; costs as much as reading a clock. */
  isOver(): boolean;
  /** Lets others in, then begins a new slice in a turn that no other sliced work shares. */
  next(): Promise<void>;
}

/** @param ms the length of a slice */
export function createSlice(ms = sliceMs): Slice {
  let end = performance.now() + ms;
  return {
    isOver: () => performance.now() >= end,
    next: async () => {
      await nextOwnTurn();
      end = performance.now() + ms;
    },
  };
}

/** Awaited between the steps of long work: lets waiting messages in once the step has held the thread for a slice. */
export function createYielder(ms = sliceMs): () => Promise<void> {
  const slice = createSlice(ms);
  return async () => {
    if (slice.isOver()) await slice.next();
  };
}

/** Visits items in slices. */
export async function forEachInSlices<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void,
): Promise<void> {
  const slice = createSlice();
  for (const item of items) {
    visit(item);
    if (slice.isOver()) await slice.next();
  }
}

/** Maps items in slices. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  await forEachInSlices(items, (item) => results.push(map(item)));
  return results;
}

/**
 * Runs short works of many callers one after the other, in the order of asking. Once those of a turn have held the
 * thread for a slice, it lets others in: a thousand that wake at once do not make one long turn.
 */
export function createPacer(ms = sliceMs): <T>(work: () => T | Promise<T>) => Promise<T> {
  const lock = createLock();
  const yieldIfDue = createYielder(ms);
  return (work) =>
    lock(async () => {
      await yieldIfDue();
      return work();
    });
}
