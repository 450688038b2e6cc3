import { createReservation, type Reservation } from "../../../../store/lib/reservation.js";
import { createShares, type Shares } from "../../../../store/lib/shares.js";
import { payloadBytesMax } from "../../../uplinks/accept.js";

/** Bytes that bodies of devices' requests take in memory: shared by tenants, and within a tenant by its devices. */
interface BodyBudget {
  open(tenant: number, device: number): Reservation;
}

/** The part of the bound that one tenant alone may have; and of that part, one device. */
const part = 7 / 8;

export function createBodyBudget(bytesMax: number): BodyBudget {
  const tenants = createShares<number>(bytesMax);
  const devices = new Map<number, Shares<number>>();

  function acquire(tenant: number, device: number, bytes: number): boolean {
    const ofTenant = devices.get(tenant) ?? createShares<number>(bytesMax * part);
    if (!ofTenant.take(device, bytes)) return false;
    if (!tenants.take(tenant, bytes)) {
      ofTenant.give(device, bytes);
      return false;
    }
    devices.set(tenant, ofTenant);
    return true;
  }

  function release(tenant: number, device: number, bytes: number): void {
    const ofTenant = devices.get(tenant);
    ofTenant?.give(device, bytes);
    tenants.give(tenant, bytes);
    if (ofTenant?.total === 0) devices.delete(tenant);
  }

  return {
    open: (tenant, device) =>
      createReservation(
        (bytes) => acquire(tenant, device, bytes),
        (bytes) => release(tenant, device, bytes),
      ),
  };
}

/** A few of the largest batches, and single messages, which never wait for those. */
const [largeBytesMax, smallBytesMax] = [96 * 1024 * 1024, 32 * 1024 * 1024];

/** Where bodies are counted, by the most that they may have. */
export type BodyBudgets = (bytesMax: number) => BodyBudget;

export function createBodyBudgets(): BodyBudgets {
  const [large, small] = [createBodyBudget(largeBytesMax), createBodyBudget(smallBytesMax)];
  return (bytesMax) => (bytesMax > payloadBytesMax ? large : small);
}
