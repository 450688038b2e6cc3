import type { Actor } from "../db/changes.js";
import { boundDetail } from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";

/** Devices and gateways of a tenant, many at once, by record id. */

/** Those that exist. */
export async function existingIDs(db: Db, tenant: number, ids: readonly number[]): Promise<Set<number>> {
  const rows = await db.all<{ id: number }>(
    "select id from device where tenant = ? and id in (select value from json_each(?))",
    [tenant, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Blocks or unblocks those that are not yet so; each of them leaves its trace. */
export async function setBlocked(
  db: Db,
  { tenant, userIntID, username }: Actor,
  now: number,
  ids: readonly number[],
  blocked: 0 | 1,
): Promise<void> {
  const others = "from device where tenant = ? and id in (select value from json_each(?)) and blocked <> ?";
  const args = [tenant, ids, blocked];
  const statements: Statement[] = [
    {
      sql: `insert into change (tenant, userIntID, username, at, action, entity, recordID, detail)
        select ?, ?, ?, ?, 'update', 'device', id, ? ${others} order by id`,
      args: [tenant, userIntID, username, now, boundDetail({ blocked }), ...args],
      rows: ids.length,
    },
    {
      sql: `update device set blocked = ?, updateAt = ? where id in (select id ${others})`,
      args: [blocked, now, ...args],
    },
  ];
  await db.write(statements);
}

/** Those of the devices that others refer to which are not among them. */
export async function referredIDs(db: Db, ids: readonly number[]): Promise<Set<number>> {
  const below = (link: string) =>
    `select b.${link} id from json_each(?1) c cross join device b on b.${link} = c.value
     where b.id not in (select value from json_each(?1))`;
  const rows = await db.all<{ id: number }>(`${below("gateway")} union ${below("parentDevice")}`, [ids]);
  return new Set(rows.map(({ id }) => id));
}

export interface DeviceLinks {
  readonly id: number;
  readonly gateway: number | null;
  readonly parentDevice: number | null;
}

/** What those that refer to others refer to. */
export function listLinks(db: Db, ids: readonly number[]): Promise<DeviceLinks[]> {
  return db.all<DeviceLinks>(
    `select d.id, d.gateway, d.parentDevice from json_each(?) c cross join device d on d.id = c.value
     where d.gateway is not null or d.parentDevice is not null`,
    [ids],
  );
}

/** What keeps a device out of a group, or that it is in it. */
export interface Membership {
  readonly id: number;
  readonly kind: "device" | "gateway";
  readonly isOfProduct: number;
  readonly isMember: number;
}

/** The result has the devices that exist; it is undefined if the group does not exist. */
export async function memberships(
  db: Db,
  tenant: number,
  group: number,
  ids: readonly number[],
): Promise<Membership[] | undefined> {
  const [groups = [], devices = []] = (await db.snapshot([
    { sql: "select 1 from device_group where tenant = ? and id = ?", args: [tenant, group] },
    {
      sql: `select d.id, d.kind, d.productIntID = g.productIntID isOfProduct,
          exists (select 1 from group_member m where m.groupIntID = g.id and m.deviceIntID = d.id) isMember
        from device_group g cross join json_each(?) c cross join device d on d.id = c.value
        where g.id = ? and d.tenant = ?`,
      args: [ids, group, tenant],
    },
  ])) as [unknown[]?, Membership[]?];
  return groups.length === 0 ? undefined : devices;
}
