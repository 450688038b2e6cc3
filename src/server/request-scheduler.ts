import { createRoundRobin } from "../../store/lib/round-robin.js";
import { sliceMs } from "../../store/lib/scheduling.js";

/**
 * Decides when requests are parsed and begin. Those of one turn of the event loop may together hold it for a slice; the
 * others begin in turns of their own, one client after the other, so that a hundred connections that ask at
 * once delay nobody else's messages for longer than one of them does.
 */
export interface RequestScheduler {
  /** Begins the work now, or once it is its lane's turn. What a work itself begins is part of it. */
  begin(lane: string, work: () => void): void;
  /** How many works wait. */
  readonly waiting: number;
}

/** In whose turns a request begins: health checks do not wait for their client's other requests. */
export function requestLane(client: string, target: string): string {
  return target === "/readyz" || target === "/healthz" ? `${client} probes` : client;
}

/** @param now milliseconds; never set */
export function createRequestScheduler(now = (): number => performance.now()): RequestScheduler {
  const waiting = createRoundRobin<string, () => void>();
  let turnEnds: number | null = null;
  let isWorking = false;

  /** Runs in the loop's next turn. */
  function turn(): void {
    turnEnds = null;
    if (waiting.size === 0) return;
    startSlice();
    next();
  }

  function next(): void {
    if (waiting.size === 0 || now() >= (turnEnds ?? 0)) return;
    run(waiting.next() as () => void);
    // By then, everything that the request does at once, its promises included, is done, and counts.
    queueMicrotask(() => process.nextTick(next));
  }

  function run(work: () => void): void {
    isWorking = true;
    try {
      work();
    } finally {
      isWorking = false;
    }
  }

  function startSlice(): void {
    turnEnds = now() + sliceMs;
    setImmediate(turn);
  }

  return {
    begin: (lane, work) => {
      if (isWorking) return work();
      if (turnEnds === null) startSlice();
      if (waiting.size === 0 && now() < (turnEnds ?? 0)) return run(work);
      waiting.push(lane, work);
    },
    get waiting() {
      return waiting.size;
    },
  };
}
