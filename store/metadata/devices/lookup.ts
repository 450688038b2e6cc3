import { type Db, lookUpFirst } from "../db/db.js";

/** A device as queries of data need it: its ids, and its tenant. */
export interface DeviceRef {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly productIntID: number;
  readonly productID: string;
}

/** A device or gateway of a tenant, by one of its two ids. */
export function findDeviceRef(
  db: Db,
  tenant: number,
  by: { readonly deviceID: string } | { readonly id: number },
): Promise<DeviceRef | undefined> {
  const [column, value] = "id" in by ? ["id", by.id] : ["deviceID", by.deviceID];
  return lookUpFirst<DeviceRef>(
    db,
    `select d.id, d.tenant, d.deviceID, d.productIntID, p.productID
     from device d join product p on p.id = d.productIntID where d.tenant = ? and d.${column} = ?`,
    [tenant, value],
  );
}

/** Whether the record is a device or a gateway; undefined if the tenant has neither. */
export async function kindOfDevice(
  db: Db,
  tenant: number,
  id: number,
): Promise<"device" | "gateway" | undefined> {
  const row = await db.first<{ kind: "device" | "gateway" }>(
    "select kind from device where tenant = ? and id = ?",
    [tenant, id],
  );
  return row?.kind;
}

export async function findGatewayID(db: Db, tenant: number, deviceID: string): Promise<number | undefined> {
  const row = await db.first<{ id: number }>(
    "select id from device where deviceID = ? and tenant = ? and kind = 'gateway'",
    [deviceID, tenant],
  );
  return row?.id;
}

export async function hasGateway(db: Db, productIntID: number): Promise<boolean> {
  const sql = "select 1 from device where productIntID = ? and kind = 'gateway' limit 1";
  return (await db.first(sql, [productIntID])) !== undefined;
}
