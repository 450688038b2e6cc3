import { StoreError } from "../../lib/errors.js";
import type { Actor } from "../db/changes.js";
import type { Db } from "../db/db.js";
import type { PageRequest } from "../db/table.js";
import { filtered } from "../devices/bound-devices.js";
import { bind, groupBinding } from "../policies/bindings.js";

/** @throws StoreError INVALID if a device's product is not the group's; a device's product never changes */
export async function addMembers(
  db: Db,
  actor: Actor,
  now: number,
  group: number,
  devices: readonly number[],
): Promise<void> {
  const alien = await db.first<{ deviceID: string }>(
    `select d.deviceID from device_group g join device d on d.productIntID <> g.productIntID
     where g.id = ? and d.id in (select value from json_each(?)) limit 1`,
    [group, devices],
  );
  if (alien !== undefined) {
    const cause = `${alien.deviceID} is of another product than the group`;
    throw new StoreError("INVALID", `cannot add to the group: ${cause}`, { ids: cause });
  }
  await bind(db, actor, now, groupBinding, { owners: [group], devices });
}

/** A device to choose from: its name and its record id. */
interface DeviceChoice {
  readonly label: string;
  readonly value: number;
}

/** The devices of the group's product that are not in the group, newest first; gateways are in no group. */
export function notJoined(
  db: Db,
  tenant: number,
  { page, limit, filters }: PageRequest,
  group: number,
): Promise<DeviceChoice[]> {
  const { sql, args } = filtered(tenant, filters);
  return db.all<DeviceChoice>(
    `select r.deviceName label, r.id value
     from device_group o cross join device r on r.productIntID = o.productIntID
     where o.id = ? and r.kind = 'device'${sql}
       and not exists (select 1 from group_member m where m.groupIntID = o.id and m.deviceIntID = r.id)
     order by r.id desc limit ? offset ?`,
    [group, ...args, limit, (page - 1) * limit],
  );
}
