import type { Db } from "../db/db.js";

/** A device as queries of data need it. */
interface GroupDevice {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly productIntID: number;
  readonly productID: string;
}

/** The devices of a group of the tenant, ascending by id, at most `most`; null if there is no such group. */
export async function devicesOfGroup(
  db: Db,
  tenant: number,
  groupID: string,
  most: number,
): Promise<GroupDevice[] | null> {
  const rows = await db.all<{ [Field in keyof GroupDevice]: GroupDevice[Field] | null }>(
    `select d.id, d.tenant, d.deviceID, d.productIntID, p.productID
     from device_group g
     left join group_member m on m.groupIntID = g.id
     left join device d on d.id = m.deviceIntID
     left join product p on p.id = d.productIntID
     where g.tenant = ? and g.groupID = ? order by m.deviceIntID limit ?`,
    [tenant, groupID, most],
  );
  if (rows.length === 0) return null;
  return rows.filter((row): row is GroupDevice => row.id !== null);
}
