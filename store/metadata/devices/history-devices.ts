import type { Db } from "../db/db.js";

/** A device or gateway as history files need it. */
export interface NamedDevice {
  readonly id: number;
  readonly tenant: number;
  readonly deviceID: string;
  readonly productIntID: number;
  readonly productID: string;
}

const namesPerQuery = 500;

/** Devices of a tenant by their string ids, which are texts from outside with any content. */
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
      `select d.id, d.tenant, d.deviceID, d.productIntID, p.productID from device d join product p on p.id = d.productIntID
       where d.tenant = ? and d.deviceID in (${some.map(() => "?").join()})`,
      [tenant, ...some],
    );
    for (const row of rows) found.set(row.deviceID, row);
  }
  return found;
}

/** Half a surrogate pair or NUL must not reach SQL; no deviceID has either. */
function isDeviceID(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what no deviceID holds
  return text.length > 0 && text.length <= 64 && !/[\u0000-\u0020\u007f]/.test(text) && text.isWellFormed();
}
