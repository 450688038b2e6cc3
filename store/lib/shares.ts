/**
 * A bound that tenants (or addresses) share: bytes, places in a queue, connections. One holder alone may have nearly
 * all of it, but none can take the last: a holder may have `alpha` times what is free, so that a part is always left
 * for those that have nothing yet, and holders at their limit end up with equal shares.
 *
 * Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on
 * Networking 6(2), 1998.
 */
export interface Shares<Holder> {
  /**
   * Takes `amount` (0 or more, in the bound's unit) for the holder. Returns false, with nothing taken, beyond its
   * share.
   */
  take(holder: Holder, amount: number): boolean;
  /** Takes `amount` whatever the share: for what is there already, such as at a start. */
  force(holder: Holder, amount: number): void;
  /** Gives back what was taken. */
  give(holder: Holder, amount: number): void;
  held(holder: Holder): number;
  readonly total: number;
}

/**
 * @param max the bound, in any unit; a function if it changes, as the space of a disk does
 * @param alpha a holder alone gets alpha ÷ (alpha + 1) of the bound: 7 leaves an eighth for the others
 */
export function createShares<Holder>(max: number | (() => number), alpha = 7): Shares<Holder> {
  const holders = new Map<Holder, number>();
  const bound = typeof max === "function" ? max : () => max;
  let total = 0;

  function add(holder: Holder, amount: number): void {
    const held = (holders.get(holder) ?? 0) + amount;
    total += amount;
    if (held > 0) holders.set(holder, held);
    else holders.delete(holder);
  }

  return {
    take: (holder, amount) => {
      const before = holders.get(holder) ?? 0;
      const left = bound() - total - amount;
      // A holder that has nothing yet may take all that is free: of a small bound, the last unit.
      if (left < 0 || (before > 0 && before + amount > alpha * left)) return false;
      add(holder, amount);
      return true;
    },
    force: add,
    give: (holder, amount) => {
      const held = holders.get(holder) ?? 0;
      if (amount > held) throw new RangeError(`cannot give back ${amount}: only ${held} are held`);
      add(holder, -amount);
    },
    held: (holder) => holders.get(holder) ?? 0,
    get total() {
      return total;
    },
  };
}
