import { StoreError } from "../errors.js";

/** Tells every thread that whoever asked has left: 1 once that is so. */
export type Left = Int32Array<SharedArrayBuffer>;

export function leftOf(signal: AbortSignal): Left {
  const left = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const leave = (): void => {
    Atomics.store(left, 0, 1);
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  return left;
}

/** Between the steps of an answer. @throws StoreError UNAVAILABLE when nobody waits for it any more */
export function checkLeft(left: Left | null): void {
  if (left !== null && Atomics.load(left, 0) === 1) {
    throw new StoreError("UNAVAILABLE", "cannot answer: the asker has left");
  }
}
