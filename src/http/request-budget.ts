import { addressBlock } from "../../ingest/access/address-block.js";
import { createReservation, type Reservation } from "../../store/lib/reservation.js";
import { createShares } from "../../store/lib/shares.js";

/** The holder that is charged: the tenant of a caller with a right credential, else the address. */
export type RequestHolder = { readonly tenant: number } | { readonly address: string };

/**
 * Bytes held of requests: what connections have read and not handed on, and the bodies of callers, from their first byte
 * until the request is answered. Bodies of devices have a budget of their own.
 */
export interface RequestBudget {
  open(holder: RequestHolder): Reservation;
}

/** For all unauthenticated clients, shared by addresses; for all others, shared by tenants. */
const bytesMax = { unauthenticated: 16 * 1024 * 1024, callers: 32 * 1024 * 1024 } as const;

export function createRequestBudget(): RequestBudget {
  const unauthenticated = createShares<string>(bytesMax.unauthenticated);
  const callers = createShares<number>(bytesMax.callers);
  return {
    open: (holder) => {
      if ("tenant" in holder) {
        const { tenant } = holder;
        return createReservation(
          (bytes) => callers.take(tenant, bytes),
          (bytes) => callers.give(tenant, bytes),
        );
      }
      const block = addressBlock(holder.address);
      return createReservation(
        (bytes) => unauthenticated.take(block, bytes),
        (bytes) => unauthenticated.give(block, bytes),
      );
    },
  };
}
