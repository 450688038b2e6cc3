import { StoreError } from "../../lib/errors.js";

/** A flag that every thread sees: 1 once the caller has cancelled. */
export type CancelFlag = Int32Array<SharedArrayBuffer>;

/** Flags of queries that have ended, for reuse: making one costs as much as a small query. */
const unused: CancelFlag[] = [];
const unusedMax = 256;

/** Asks with a flag that says whether the caller has cancelled; null where the caller never cancels. */
export async function runCancellable<T>(
  signal: AbortSignal | null,
  ask: (cancelled: CancelFlag | null) => Promise<T>,
): Promise<T> {
  if (signal === null) return ask(null);
  const cancelled = unused.pop() ?? new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const leave = (): void => {
    Atomics.store(cancelled, 0, 1);
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  try {
    return await ask(cancelled);
  } finally {
    signal.removeEventListener("abort", leave);
    // A flag that was raised may still be read by another thread.
    if (!signal.aborted && unused.length < unusedMax) unused.push(cancelled);
  }
}

/** Between the steps of an answer. @throws StoreError UNAVAILABLE when nobody waits for it any more */
export function throwIfCancelled(cancelled: CancelFlag | null): void {
  if (cancelled !== null && Atomics.load(cancelled, 0) === 1) {
    throw new StoreError("UNAVAILABLE", "cannot answer: the asker has left");
  }
}
