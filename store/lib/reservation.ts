/** The part of a shared bound that one holder has: it grows and shrinks with what is held. */
export interface Reservation {
  /** The amount that is reserved now, in the bound's unit. */
  readonly amount: number;
  /** Reserves so much in place of that; false, with nothing changed, beyond the holder's share. */
  resize(amount: number): boolean;
  /** Releases all of it; what comes later is refused. */
  release(): void;
}

/** @param acquire false, with nothing acquired, beyond the holder's share */
export function createReservation(
  acquire: (amount: number) => boolean,
  release: (amount: number) => void,
): Reservation {
  let held = 0;
  let isOver = false;
  return {
    get amount() {
      return held;
    },
    resize: (amount) => {
      if (isOver || (amount > held && !acquire(amount - held))) return false;
      if (amount < held) release(held - amount);
      held = amount;
      return true;
    },
    release: () => {
      isOver = true;
      if (held > 0) release(held);
      held = 0;
    },
  };
}
