import { StoreError } from "../../lib/errors.js";

/** A flag that every thread sees: 1 once the asker has left. */
export type Left = Int32Array<SharedArrayBuffer>;

/** Flags of questions that have ended, for reuse: making one costs as much as a small question. */
const unused: Left[] = [];
const unusedMax = 256;

/** Asks with a flag that says whether the asker has left; null where the asker stays. */
export async function whileStaying<T>(
  signal: AbortSignal | null,
  ask: (left: Left | null) => Promise<T>,
): Promise<T> {
  if (signal === null) return ask(null);
  const left = unused.pop() ?? new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const leave = (): void => {
    Atomics.store(left, 0, 1);
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  try {
    return await ask(left);
  } finally {
    signal.removeEventListener("abort", leave);
    // A flag that was raised may still be read by another thread.
    if (!signal.aborted && unused.length < unusedMax) unused.push(left);
  }
}

/** Between the steps of an answer. @throws StoreError UNAVAILABLE when nobody waits for it any more */
export function checkLeft(left: Left | null): void {
  if (left !== null && Atomics.load(left, 0) === 1) {
    throw new StoreError("UNAVAILABLE", "cannot answer: the asker has left");
  }
}
