import { type Db, lookUpFirst, type SqlValue } from "../db/db.js";

/** A device or gateway that may receive a command. */
export interface CommandTarget {
  readonly id: number;
  readonly deviceID: string;
  readonly blocked: number;
  /** The gateway or parent device above it, or null. */
  readonly carrier: number | null;
  /** The cloud protocol of its product; a gateway's own protocol upwards. */
  readonly protocol: number;
}

/** What names a device or gateway within its tenant. */
export type TargetKey = { readonly deviceID: string } | { readonly deviceIntID: number };

/** Columns of a device `d`. */
export const commandTargetColumns = `d.id, d.deviceID, d.blocked, coalesce(d.gateway, d.parentDevice) carrier, coalesce(d.upLinkProtocol,
    (select p.cloudProtocol from product p where p.id = d.productIntID)) protocol`;

/** Finds a target of one tenant by string id or record id. */
export function findCommandTarget(
  db: Db,
  tenant: number,
  key: TargetKey,
): Promise<CommandTarget | undefined> {
  const [condition, value]: [string, SqlValue] =
    "deviceID" in key ? ["deviceID = ?", key.deviceID] : ["id = ?", key.deviceIntID];
  return lookUpFirst<CommandTarget>(
    db,
    `select ${commandTargetColumns} from device d where d.tenant = ? and d.${condition}`,
    [tenant, value],
  );
}

/** The targets among record ids of a tenant, in the order of the ids. */
export function commandTargets(db: Db, tenant: number, ids: readonly number[]): Promise<CommandTarget[]> {
  return db.all<CommandTarget>(
    `select ${commandTargetColumns} from json_each(?) c cross join device d on d.id = c.value
     where d.tenant = ? order by c.key`,
    [ids, tenant],
  );
}

export interface GroupTarget {
  readonly id: number;
  readonly groupID: string;
  readonly groupName: string;
}

export function findGroupTarget(
  db: Db,
  tenant: number,
  key: { readonly groupID: string } | { readonly groupIntID: number },
): Promise<GroupTarget | undefined> {
  const [condition, value]: [string, SqlValue] =
    "groupID" in key ? ["groupID = ?", key.groupID] : ["id = ?", key.groupIntID];
  return db.first<GroupTarget>(
    `select id, groupID, groupName from device_group where tenant = ? and ${condition}`,
    [tenant, value],
  );
}
