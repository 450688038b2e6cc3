import { type Copies, firstAck } from "./first-ack.js";
import type { SessionRegistry } from "./session-registry.js";
import type { Settled } from "./state.js";

/**
 * Commands of earlier runs that sessions still held at the last save, or were given after it: what has become of
 * each, and what will.
 */
export interface PendingReceipts {
  /** One more downlink record that carries a receipt; returns what follows every copy of it. */
  begin(receipt: number): Copies;
  /** All of them, settled or not. */
  readonly known: ReadonlySet<number>;
  /** The listener receives at once what was settled before. */
  listen(listener: ReceiptListener): void;
}

/** `receipt` is the record id of the command's control log. */
type ReceiptListener = (receipt: number, acknowledged: boolean) => void;

export function createPendingReceipts(): PendingReceipts {
  const known = new Set<number>();
  const early: [receipt: number, acknowledged: boolean][] = [];
  let tell: ReceiptListener = (receipt, acknowledged) => {
    early.push([receipt, acknowledged]);
  };

  const ending =
    (receipt: number): Settled =>
    (acknowledged) => {
      tell(receipt, acknowledged);
    };

  return {
    begin: (receipt) => {
      known.add(receipt);
      return firstAck(ending(receipt));
    },
    known,
    listen: (listener) => {
      tell = listener;
      for (const [receipt, acknowledged] of early.splice(0)) listener(receipt, acknowledged);
    },
  };
}

/** Takes up what the snapshot of the sessions holds. */
export function takeUpReceipts(held: PendingReceipts, registry: Pick<SessionRegistry, "all">): void {
  const found = new Map<number, { readonly copies: Copies; count: number }>();
  for (const { sessions } of registry.all()) {
    for (const { outgoing } of sessions.values()) {
      for (const message of outgoing.values()) {
        const { receipt } = message;
        if (receipt === null) continue;
        const command = found.get(receipt) ?? { copies: held.begin(receipt), count: 0 };
        command.count++;
        message.settled = command.copies.settled;
        found.set(receipt, command);
      }
    }
  }
  for (const { copies, count } of found.values()) copies.begin(count);
}
