import { createThreadGate, type ThreadGate } from "../../../lib/thread-gate.js";

/** Milliseconds that the end of the process waits for calls under way. */
const waitMsMax = 2000;

const gates = new Set<Pick<ThreadGate, "shut">>();
let listens = false;

/**
 * The end of the process ends its threads, and one that is ended during a call of libsql makes the process abort: so
 * the end waits until no call is under way in this thread, and lets none begin. Returns how to give the gate up.
 */
export function waitAtExit(cells: Int32Array<SharedArrayBuffer>): () => void {
  const gate = createThreadGate(cells);
  gates.add(gate);
  if (!listens) process.on("exit", shutAll);
  listens = true;
  return () => gates.delete(gate);
}

function shutAll(): void {
  const end = performance.now() + waitMsMax;
  // The end of a process cannot wait for a promise.
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (const gate of gates) while (!gate.shut() && performance.now() < end) Atomics.wait(cell, 0, 0, 1);
}
