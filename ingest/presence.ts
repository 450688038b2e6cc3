import type { Db } from "../store/db.js";
import { type PresenceChange, storePresence } from "../store/device-presence.js";
import type { Origin } from "./accept.js";
import type { Connections } from "./connections.js";

/** Who is connected: at once in memory, soon after in the metadata (where filters look). */
export interface Presence {
  /** `keepAlive` in seconds, `at` in milliseconds since 1970. */
  connected(origin: Origin, keepAlive: number, at: number): void;
  disconnected(origin: Origin): void;
  /** Writes what has changed. */
  save(): Promise<void>;
  readonly online: number;
}

/** Rows of one write, so that a reconnect storm does not hold the loop. */
const rowsPerWrite = 200;

export function createPresence(db: Db, node: number, open: Pick<Connections, "opened" | "closed">): Presence {
  const connections = new Map<number, number>();
  const changes = new Map<number, PresenceChange>();

  return {
    connected: ({ device: entry, connection, session, ip }, keepAlive, at) => {
      const { id: device } = entry;
      open.opened({ connection, tenant: entry.device.tenant, device, session, ip, keepAlive });
      connections.set(device, (connections.get(device) ?? 0) + 1);
      changes.set(device, { id: device, deviceStatus: 1, clientIP: ip, connectedAt: at, keepAlive });
    },
    disconnected: ({ device: { id: device }, connection }) => {
      open.closed(connection);
      const left = (connections.get(device) ?? 1) - 1;
      if (left > 0) {
        connections.set(device, left);
        return;
      }
      connections.delete(device);
      changes.set(device, {
        id: device,
        deviceStatus: 0,
        clientIP: null,
        connectedAt: null,
        keepAlive: null,
      });
    },
    save: async () => {
      while (changes.size > 0) {
        const some = [...changes.values()].slice(0, rowsPerWrite);
        for (const change of some) changes.delete(change.id);
        try {
          await storePresence(db, node, some);
        } catch (error) {
          // A newer change of the same device wins over the one put back.
          for (const change of some) if (!changes.has(change.id)) changes.set(change.id, change);
          throw error;
        }
      }
    },
    get online() {
      return connections.size;
    },
  };
}
