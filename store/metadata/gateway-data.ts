import type { Db } from "./db/db.js";
import { listRows } from "./db/list-rows.js";
import { integer, type Listing, type Page, type PageRequest, text } from "./db/table.js";

/** A device that a gateway carries, with what its series are found by. */
export interface CarriedDevice {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly productIntID: number;
  readonly productID: string;
}

const listing: Listing = {
  select: "r.id, r.tenant, r.deviceID, r.deviceName, r.productIntID, p.productID",
  from: "device r join product p on p.id = r.productIntID",
  filters: {
    deviceID: text("deviceID"),
    deviceName: text("deviceName"),
    productID: { column: "p.productID", type: "text" },
    productIntID: integer("productIntID"),
    deviceIntID: integer("id"),
  },
};

export const carriedDeviceFilters = listing.filters;
export const parentIDs = { name: "device", column: "deviceID", scope: "kind = 'gateway'" } as const;

/** The devices of a gateway. */
export function listCarriedDevices(
  db: Db,
  tenant: number,
  gateway: number,
  request: PageRequest,
): Promise<Page<CarriedDevice>> {
  return listRows<CarriedDevice>(db, listing, tenant, request, { sql: "r.gateway = ?", args: [gateway] });
}
