/**
 * libsql calls out of a thread that is ended meanwhile end the whole process: its binding takes the refusal of an
 * object for a fault of its own and aborts. So a thread that may be ended from outside goes through a gate: it enters
 * before each call and leaves after it, and the thread that ends it shuts the gate while nobody is in.
 */
export interface ThreadGate {
  /** In the thread: runs `action`, @throws Error once the gate is shut */
  within<T>(action: () => Promise<T>): Promise<T>;
  /** From outside: whether nobody is in; nobody enters any more then. */
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
      // Calls of one thread overlap: the first opens, the last closes.
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
