import { createRoundRobin } from "../../store/lib/round-robin.js";
import { sliceMs } from "../../store/lib/turns.js";

/**
 * Decides when requests begin. Those of one turn of the event loop may together hold it for a slice; the
 * others begin in turns of their own, one client after the other, so that a hundred connections that ask at
 * once delay nobody else's messages for longer than one of them does.
 */
export interface RequestTurns {
  /** Begins the work now, or once it is its client's turn. */
  begin(client: string, work: () => void): void;
  /** How many requests wait. */
  readonly waiting: number;
}

/** @param now milliseconds; never set */
export function createRequestTurns(now = (): number => performance.now()): RequestTurns {
  const waiting = createRoundRobin<string, () => void>();
  let turnEnds: number | null = null;

  /** Runs in the loop's next turn; by then, everything that a request does at once, its promises included, is done. */
  function turn(): void {
    turnEnds = null;
    const work = waiting.next();
    if (work === undefined) return;
    openTurn();
    work();
  }

  function openTurn(): void {
    turnEnds = now() + sliceMs;
    setImmediate(turn);
  }

  return {
    begin: (client, work) => {
      if (turnEnds === null) openTurn();
      if (waiting.size === 0 && now() < (turnEnds ?? 0)) return work();
      waiting.push(client, work);
    },
    get waiting() {
      return waiting.size;
    },
  };
}
