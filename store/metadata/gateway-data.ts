import type { Db } from "./db/db.js";
import { listRows } from "./db/list-rows.js";
import { integerColumn, type Listing, type Page, type PageRequest, textColumn } from "./db/table.js";

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
    deviceID: textColumn("deviceID"),
    deviceName: textColumn("deviceName"),
    productID: { column: "p.productID", type: "text" },
    productIntID: integerColumn("productIntID"),
    deviceIntID: integerColumn("id"),
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
