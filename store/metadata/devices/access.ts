import type { Db } from "../db/db.js";
import type { Policy } from "../policies/policies.js";
import type { Subscription } from "../policies/subscriptions.js";

/** The rules and subscriptions of devices' topics; over all tenants, because incoming messages have no caller. */

/** The part of a policy about topics. */
export type PolicyRule = Pick<Policy, "id" | "topic" | "access" | "allow">;

/** A subscription as it reaches a device: its own (`owner` null), or that of a group that it is in. */
export interface DeviceSubscription extends Pick<Subscription, "topic" | "qos"> {
  readonly groupIntID: number | null;
}

export interface DeviceAccess {
  readonly rules: readonly PolicyRule[];
  readonly subscriptions: readonly DeviceSubscription[];
}

interface Row {
  readonly device: number;
  readonly isRule: number;
  /** The policy of a rule, or the group of a subscription. */
  readonly owner: number | null;
  readonly topic: string;
  readonly access: number;
  readonly allow: number;
}

/** The rules and subscriptions of each of the devices, in one statement: every CONNECT asks for them. */
export async function accessOfDevices(
  db: Db,
  devices: readonly number[],
): Promise<ReadonlyMap<number, DeviceAccess>> {
  const rows = await db.all<Row>(
    `with d (id) as materialized (select value from json_each(?))
     select d.id device, 1 isRule, p.id owner, p.topic, p.access, p.allow
     from d cross join policy_device b on b.deviceIntID = d.id join policy p on p.id = b.policyIntID
     union all
     select d.id, 0, null, s.topic, s.qos, 0 from d cross join subscription s on s.deviceIntID = d.id
     union all
     select d.id, 0, s.groupIntID, s.topic, s.qos, 0
     from d cross join group_member m on m.deviceIntID = d.id
     cross join subscription s on s.groupIntID = m.groupIntID`,
    [devices],
  );
  const found = new Map<number, { rules: PolicyRule[]; subscriptions: DeviceSubscription[] }>();
  for (const { device, isRule, owner, topic, access, allow } of rows) {
    const of = found.get(device) ?? { rules: [], subscriptions: [] };
    found.set(device, of);
    if (isRule === 1) of.rules.push({ id: owner ?? 0, topic, access, allow });
    else of.subscriptions.push({ groupIntID: owner, topic, qos: access });
  }
  return found;
}

/** Those of the devices that exist. */
export async function existingDevices(db: Db, devices: readonly number[]): Promise<ReadonlySet<number>> {
  const rows = await db.all<{ id: number }>(
    "select id from device where id in (select value from json_each(?))",
    [devices],
  );
  return new Set(rows.map(({ id }) => id));
}

export function findRule(db: Db, id: number): Promise<PolicyRule | undefined> {
  return db.first("select id, topic, access, allow from policy where id = ?", [id]);
}

export function subscriptionsOfProduct(
  db: Db,
  product: number,
): Promise<Pick<Subscription, "topic" | "qos">[]> {
  return db.all("select topic, qos from subscription where productIntID = ?", [product]);
}

/** Record ids of members, ascending, above `after`. */
export async function memberIDs(db: Db, group: number, after: number, limit: number): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    `select deviceIntID id from group_member where groupIntID = ? and deviceIntID > ?
     order by deviceIntID limit ?`,
    [group, after, limit],
  );
  return rows.map(({ id }) => id);
}
