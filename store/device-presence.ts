import type { Db } from "./db.js";

/** Who is connected, as the metadata shows it. */

/** One presence change of a device, as the service saw it. */
export interface PresenceChange {
  readonly id: number;
  readonly deviceStatus: number;
  readonly clientIP: string | null;
  readonly connectedAt: number | null;
  readonly keepAlive: number | null;
}

/** Presence is the service's own observation: no audit row, no updateAt. */
export async function storePresence(db: Db, node: number, changes: readonly PresenceChange[]): Promise<void> {
  if (changes.length === 0) return;
  await db.write(
    changes.map((change) => ({
      sql: `update device set deviceStatus = ?, clientIP = ?, connectedAt = coalesce(?, connectedAt),
        keepAlive = ?, node = ? where id = ?`,
      args: [
        change.deviceStatus,
        change.clientIP,
        change.connectedAt,
        change.keepAlive,
        change.deviceStatus === 0 ? null : node,
        change.id,
      ],
    })),
  );
}

/** At start nobody is connected to this node yet, whatever a killed run left behind. */
export async function clearPresence(db: Db, node: number): Promise<void> {
  await db.write([
    {
      sql: "update device set deviceStatus = 0, clientIP = null, keepAlive = null, node = null where node = ?",
      args: [node],
    },
  ]);
}
