import { sliceMs } from "../../store/lib/turns.js";

/**
 * When requests begin. Those of one turn of the loop may hold it for a slice together; the others begin in turns of
 * their own, one client after the other, so that a hundred connections that ask at once hold up nobody else's messages
 * for longer than one of them does.
 */
export interface RequestTurns {
  /** Begins the work now, or once it is its client's turn. */
  begin(client: string, work: () => void): void;
  /** Requests that wait. */
  readonly waiting: number;
}

/** @param now milliseconds; never set */
export function createRequestTurns(now = (): number => performance.now()): RequestTurns {
  /** In the order of their turns. */
  const clients = new Map<string, (() => void)[]>();
  let waiting = 0;
  let turnEnds: number | null = null;

  /** Runs in the loop's next turn; whatever a request does at once, its own promises among it, is behind it by then. */
  function turn(): void {
    turnEnds = null;
    const work = next();
    if (work === undefined) return;
    openTurn();
    work();
  }

  function openTurn(): void {
    turnEnds = now() + sliceMs;
    setImmediate(turn);
  }

  /** The next request of whoever's turn it is, who then goes behind the others. */
  function next(): (() => void) | undefined {
    for (const [client, works] of clients) {
      const first = works.shift();
      clients.delete(client);
      if (works.length > 0) clients.set(client, works);
      waiting--;
      return first;
    }
    return undefined;
  }

  return {
    begin: (client, work) => {
      if (turnEnds === null) openTurn();
      if (waiting === 0 && now() < (turnEnds ?? 0)) return work();
      const works = clients.get(client);
      if (works === undefined) clients.set(client, [work]);
      else works.push(work);
      waiting++;
    },
    get waiting() {
      return waiting;
    },
  };
}
