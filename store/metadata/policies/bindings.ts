import { StoreError } from "../../lib/errors.js";
import type { Actor } from "../db/changes.js";
import type { Db, SqlValue, Statement } from "../db/db.js";

/** Tables of pairs of an owner and a device. Devices here may be gateways. */
export interface Binding {
  readonly table: "group_member" | "policy_device" | "cert_device";
  /** The column of the owner's record id. */
  readonly owner: "groupIntID" | "policyIntID" | "certIntID";
  readonly owners: "device_group" | "policy" | "cert";
}

export const groupBinding = {
  table: "group_member",
  owner: "groupIntID",
  owners: "device_group",
} as const satisfies Binding;

export const policyDevices = {
  table: "policy_device",
  owner: "policyIntID",
  owners: "policy",
} as const satisfies Binding;

export const certDevices = {
  table: "cert_device",
  owner: "certIntID",
  owners: "cert",
} as const satisfies Binding;

/** Every owner paired with every device; both are record ids of the actor's tenant, each once. */
interface Pairs {
  readonly owners: readonly number[];
  readonly devices: readonly number[];
}

/** Binds the pairs that are not bound yet. Leaves out a record deleted meanwhile, since its bindings go with it. */
export async function bind(
  db: Db,
  actor: Actor,
  now: number,
  binding: Binding,
  { owners, devices }: Pairs,
): Promise<void> {
  const { table, owner, owners: ownerTable } = binding;
  const unbound: Statement = {
    sql: `select o.id owner, d.id device from ${ownerTable} o cross join device d
      where o.id in (select value from json_each(?)) and d.id in (select value from json_each(?))
        and not exists (select 1 from ${table} b where b.${owner} = o.id and b.deviceIntID = d.id)`,
    args: [owners, devices],
  };
  await db.write([
    changes(actor, now, "create", table, unbound),
    {
      sql: `insert into ${table} (${owner}, deviceIntID) ${unbound.sql} order by owner, device`,
      args: unbound.args ?? [],
    },
  ]);
}

/** Unbinds all pairs or none. @throws StoreError NOT_FOUND if one of the pairs is not bound */
export async function unbind(
  db: Db,
  actor: Actor,
  now: number,
  binding: Binding,
  { owners, devices }: Pairs,
): Promise<void> {
  const { table, owner } = binding;
  const among = `${owner} in (select value from json_each(?)) and deviceIntID in (select value from json_each(?))`;
  // Counts within the transaction, so that of two simultaneous requests only one finds the pairs that it removes.
  const bound = `from ${table} where ${among} and (select count(*) from ${table} where ${among}) = ?`;
  const args: SqlValue[] = [owners, devices, owners, devices, owners.length * devices.length];
  const [, removed] = await db.write([
    changes(actor, now, "delete", table, { sql: `select ${owner} owner, deviceIntID device ${bound}`, args }),
    { sql: `delete ${bound}`, args },
  ]);
  if (removed?.rowsAffected === 0) throw new StoreError("NOT_FOUND", "cannot unbind: not all are bound");
}

/** One change for each owner in `pairs` (owner, device); its detail lists the devices. */
function changes(
  actor: Actor,
  now: number,
  action: "create" | "delete",
  entity: string,
  pairs: Statement,
): Statement {
  return {
    sql: `insert into change (tenant, userIntID, username, at, action, entity, recordID, detail)
      select ?, ?, ?, ?, ?, ?, owner, json_object('deviceIntIDs', json_group_array(device))
      from (${pairs.sql}) group by owner`,
    args: [actor.tenant, actor.userIntID, actor.username, now, action, entity, ...(pairs.args ?? [])],
  };
}
