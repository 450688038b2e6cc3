import { nextTurn, sliceMs } from "../../../store/turns.js";

/** Someone who has more to read than one turn of the loop is for. */
export interface Reading {
  /** Goes on until the turn is over, or nothing is left. */
  proceed(): void;
}

/**
 * The time that all connections together read for in one turn of the loop. Who has more to say leaves it unread, and goes
 * on in a later turn, each in its turn: it pays with its own time, whatever it has written at once.
 */
export interface ReadingTurns {
  /** Nothing more is to be read in this turn. */
  readonly isOver: boolean;
  /** So much has been read: about a packet, or 256 bytes, each. */
  spend(units: number): void;
  /** `proceed` is called in a later turn, in the order of asking. */
  later(reading: Reading): void;
  forget(reading: Reading): void;
}

/** The clock is looked at once for so many. */
const unitsPerLook = 16;

export function createReadingTurns(): ReadingTurns {
  const waiting = new Set<Reading>();
  let isOver = false;
  let units = 0;
  /** Of this turn's slice; 0: it has not begun. */
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
    for (const reading of waiting) {
      if (isOver) break;
      waiting.delete(reading);
      reading.proceed();
    }
    // What came meanwhile has been read in the same time.
    if (isOver || waiting.size > 0) plan();
    else end = 0;
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
      waiting.add(reading);
      plan();
    },
    forget: (reading) => {
      waiting.delete(reading);
    },
  };
}
