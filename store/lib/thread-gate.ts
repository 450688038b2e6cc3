/**
 * If a thread is ended during a call of libsql, the whole process ends: its binding takes the failure to make an object
 * for a fault of its own and aborts. So a thread that may be ended from outside goes through a gate: it enters before
 * each call and leaves after it, and the thread that ends it shuts the gate while no call is inside.
 */
export interface ThreadGate {
  /** Called in the thread: runs `action`. @throws Error once the gate is shut */
  within<T>(action: () => Promise<T>): Promise<T>;
  /**
   * Called from outside: shuts the gate if no call is inside, and returns whether it did; then no call enters any more.
   */
  shut(): boolean;
}

const idle = 0;
const busy = 1;
const ended = 2;

/** Four bytes that both threads share. */
export const gateCells = (): Int32Array<SharedArrayBuffer> => new Int32Array(new SharedArrayBuffer(4));

export function createThreadGate(cells: Int32Array<SharedArrayBuffer>): ThreadGate {
  let inside = 0;
  return {
    within: async (action) => {
      // Calls of one thread overlap: the first enters, the last leaves.
      if (inside === 0 && Atomics.compareExchange(cells, 0, idle, busy) === ended) {
        throw new Error("the thread is being ended");
      }
      inside++;
      try {
        return await action();
      } finally {
        if (--inside === 0) Atomics.store(cells, 0, idle);
      }
    },
    shut: () => Atomics.compareExchange(cells, 0, idle, ended) !== busy,
  };
}
