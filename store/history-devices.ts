import type { Db } from "./db.js";

/** What history files need of a device or gateway. */
export interface NamedDevice {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly productIntID: number;
  readonly productID: string;
}

const namesPerQuery = 500;
const columns = "d.id, d.tenant, d.deviceID, d.productIntID, p.productID";

/** Devices of a tenant by their string ids; texts from outside, whatever they hold. */
export async function findDevicesByName(
  db: Db,
  tenant: number,
  names: readonly string[],
): Promise<Map<string, NamedDevice>> {
  const found = new Map<string, NamedDevice>();
  const possible = names.filter(isDeviceID);
  for (let from = 0; from < possible.length; from += namesPerQuery) {
    const some = possible.slice(from, from + namesPerQuery);
    const rows = await db.all<NamedDevice>(
      `select ${columns} from device d join product p on p.id = d.productIntID
       where d.tenant = ? and d.deviceID in (${some.map(() => "?").join()})`,
      [tenant, ...some],
    );
    for (const row of rows) found.set(row.deviceID, row);
  }
  return found;
}

/** Half a surrogate pair or NUL must not reach SQL; no deviceID holds them. */
function isDeviceID(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what no deviceID holds
  return text.length > 0 && text.length <= 64 && !/[\u0000-\u0020\u007f]/.test(text) && text.isWellFormed();
}

/** The devices of a group by string id, at most so many; null when there is no such group. */
export async function findDevicesOfGroup(
  db: Db,
  tenant: number,
  groupID: string,
  most: number,
): Promise<NamedDevice[] | null> {
  const rows = await db.all<NamedDevice | { id: null }>(
    `select ${columns} from device_group g left join group_member m on m.groupIntID = g.id
       left join device d on d.id = m.deviceIntID left join product p on p.id = d.productIntID
     where g.tenant = ? and g.groupID = ? order by d.deviceID limit ?`,
    [tenant, groupID, most],
  );
  return rows.length === 0 ? null : rows.flatMap((row) => (row.id === null ? [] : [row]));
}
