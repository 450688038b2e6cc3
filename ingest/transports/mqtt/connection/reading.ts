import { createRoundRobin } from "../../../../store/lib/round-robin.js";
import { nextTurn, sliceMs } from "../../../../store/lib/scheduling.js";

/** A connection with more to read than fits into one turn of the loop. */
export interface SocketReading {
  /** The fairness key: its tenant, or its address until it is authenticated. */
  readonly payer: number | string;
  /** Goes on until the turn is over, or nothing is left. */
  proceed(): void;
}

/**
 * The time that all connections together read for in one turn of the loop. A connection with more to read leaves it
 * unread and goes on in a later turn, however much its client has written at once. Fairness keys take turns, and so do
 * the connections of each: a key with hundreds of them gets no more than one with a few.
 */
export interface ReadingTurns {
  /** Whether nothing more is to be read in this turn. */
  readonly isOver: boolean;
  /** Counts units that have been read: each is about a packet, or 256 bytes. */
  spend(units: number): void;
  /** `proceed` is called in a later turn: when the fairness key has its turn, and there in the order of the calls. */
  later(reading: SocketReading): void;
  forget(reading: SocketReading): void;
}

/** Units between two looks at the clock. */
const unitsPerLook = 16;

export function createReadingTurns(): ReadingTurns {
  const waiting = createRoundRobin<SocketReading["payer"], SocketReading>();
  /** The fairness key under which each waits: a reading's own key may change when its client authenticates. */
  const payers = new Map<SocketReading, SocketReading["payer"]>();
  let isOver = false;
  let units = 0;
  /** The end of this turn's slice; 0: it has not begun. */
  let end = 0;
  let planned = false;

  function plan(): void {
    if (planned) return;
    planned = true;
    void nextTurn().then(take);
  }

  function begin(): void {
    isOver = false;
    units = 0;
    end = performance.now() + sliceMs;
  }

  function take(): void {
    planned = false;
    begin();
    while (!isOver) {
      const reading = waiting.next();
      if (reading === undefined) break;
      payers.delete(reading);
      reading.proceed();
    }
    // Connections that came during this turn have been read in the same slice.
    if (isOver || waiting.size > 0) plan();
    else end = 0;
  }

  function forget(reading: SocketReading): void {
    const payer = payers.get(reading);
    if (payer === undefined) return;
    payers.delete(reading);
    waiting.remove(payer, reading);
  }

  return {
    get isOver() {
      return isOver;
    },
    spend: (more) => {
      units += more;
      if (units < unitsPerLook) return;
      units = 0;
      if (end === 0) {
        begin();
        plan();
      } else if (performance.now() >= end) isOver = true;
    },
    later: (reading) => {
      if (payers.has(reading)) return;
      const { payer } = reading;
      payers.set(reading, payer);
      waiting.push(payer, reading);
      plan();
    },
    forget,
  };
}
