import type { Db } from "../db/db.js";

/** Which devices are connected, as the metadata shows it. */

/** One presence change of a device, as the service saw it. */
export interface PresenceChange {
  readonly id: number;
  readonly deviceStatus: number;
  readonly clientIP: string | null;
  readonly connectedAt: number | null;
  readonly keepAlive: number | null;
  /** When the device was there last, milliseconds. */
  readonly seenAt: number;
}

/**
 * Presence is the service's own observation: no audit row, no updateAt. One statement stores all changes, because
 * preparing one for each costs more than the change; each device is in `changes` only once.
 */
export async function storePresence(db: Db, node: number, changes: readonly PresenceChange[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(() => "(?, ?, ?, ?, ?, ?)").join(", ");
  await db.write([
    {
      sql: `with change (id, deviceStatus, clientIP, connectedAt, keepAlive, node) as (values ${rows})
        update device set deviceStatus = c.deviceStatus, clientIP = c.clientIP,
          connectedAt = coalesce(c.connectedAt, device.connectedAt), keepAlive = c.keepAlive, node = c.node
        from change c where device.id = c.id`,
      args: changes.flatMap(({ id, deviceStatus, clientIP, connectedAt, keepAlive }) => [
        ...[id, deviceStatus, clientIP, connectedAt, keepAlive],
        deviceStatus === 0 ? null : node,
      ]),
    },
    {
      sql: `with change (id, seenAt) as (values ${changes.map(() => "(?, ?)").join(", ")})
        update device_seen set lastSeen = c.seenAt from change c
        where device_seen.id = c.id and device_seen.lastSeen < c.seenAt`,
      args: changes.flatMap(({ id, seenAt }) => [id, seenAt]),
    },
  ]);
}

/** At a start no device is connected to this node yet, whatever a killed run left in the rows. */
export async function clearPresence(db: Db, node: number): Promise<void> {
  await db.write([
    {
      sql: "update device set deviceStatus = 0, clientIP = null, keepAlive = null, node = null where node = ?",
      args: [node],
    },
  ]);
}
