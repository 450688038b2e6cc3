import { createShares, type Shares } from "../../../../store/lib/shares.js";
import { payloadBytesMax } from "../../../uplinks/accept.js";

/** Bytes of bodies that are here: shared by tenants, and within a tenant by its devices. */
interface BodyRoom {
  /** False, with nothing taken, beyond the share of the tenant or the device. */
  take(tenant: number, device: number, bytes: number): boolean;
  give(tenant: number, device: number, bytes: number): void;
}

/** Of the bound, what one tenant alone may have; and of that, one device. */
const part = 7 / 8;

export function createBodyRoom(bytesMax: number): BodyRoom {
  const tenants = createShares<number>(bytesMax);
  const devices = new Map<number, Shares<number>>();
  return {
    take: (tenant, device, bytes) => {
      const ofTenant = devices.get(tenant) ?? createShares<number>(bytesMax * part);
      if (!ofTenant.take(device, bytes)) return false;
      if (!tenants.take(tenant, bytes)) {
        ofTenant.give(device, bytes);
        return false;
      }
      devices.set(tenant, ofTenant);
      return true;
    },
    give: (tenant, device, bytes) => {
      const ofTenant = devices.get(tenant);
      ofTenant?.give(device, bytes);
      tenants.give(tenant, bytes);
      if (ofTenant?.total === 0) devices.delete(tenant);
    },
  };
}

/** A few of the largest batches, and single messages, which never wait for those. */
const [largeBytesMax, smallBytesMax] = [96 * 1024 * 1024, 32 * 1024 * 1024];

/** Where bodies are counted, by the most that they may have. */
export type BodyRooms = (bytesMax: number) => BodyRoom;

export function createBodyRooms(): BodyRooms {
  const [large, small] = [createBodyRoom(largeBytesMax), createBodyRoom(smallBytesMax)];
  return (bytesMax) => (bytesMax > payloadBytesMax ? large : small);
}
