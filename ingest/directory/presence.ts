import type { Db } from "../../store/metadata/db/db.js";
import { type PresenceChange, storePresence } from "../../store/metadata/devices/presence.js";
import { createCarriedDevices } from "./carried-devices.js";

/** Presence of devices: at once in memory, soon after in the metadata, where readers and filters look. */
export interface Presence {
  connected(device: number, ip: string, keepAlive: number, at: number): void;
  disconnected(device: number): void;
  /**
   * A message of the device has come through its parent: it is present until the parent goes. A parent that is no
   * longer present brings no device back: the message may be old.
   */
  carried(device: number, parent: number, at: number): void;
  /** Writes what has changed. @throws what the metadata throws; it is tried again with the next save */
  save(): Promise<void>;
  /** Writes all changes so far, before somebody reads them; does not wait for changes that cannot be written. */
  settle(): Promise<void>;
  readonly online: number;
}

/** Rows of one write, so that a reconnect storm does not hold the loop. */
const rowsPerWrite = 200;

const offline = { deviceStatus: 0, clientIP: null, connectedAt: null, keepAlive: null } as const;

/**
 * @param now milliseconds since 1970
 * @param onChange called with each device that comes or goes
 */
export function createPresence(
  db: Db,
  node: number,
  now: () => number,
  onChange: (device: number, deviceStatus: 0 | 1) => void = () => undefined,
): Presence {
  const connections = new Map<number, number>();
  const changes = new Map<number, PresenceChange>();
  const carried = createCarriedDevices();
  /** The last write; never rejects. */
  let writing: Promise<void> = Promise.resolve();
  const isThere = (device: number): boolean =>
    connections.has(device) || carried.parentOf(device) !== undefined;

  /** It goes with its connection or its parent; the devices that it carries go too, unless connected otherwise. */
  function gone(device: number): void {
    changes.set(device, { ...offline, id: device, seenAt: now() });
    onChange(device, 0);
    for (const one of carried.take(device)) if (!isThere(one)) gone(one);
  }

  /** One write, after the one under way: a device's changes are written in their order. */
  function next(): Promise<void> {
    const written = writing.then(writeSome);
    writing = written.catch(() => undefined);
    return written;
  }

  async function writeSome(): Promise<void> {
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

  return {
    connected: (device, ip, keepAlive, at) => {
      if (!isThere(device)) onChange(device, 1);
      connections.set(device, (connections.get(device) ?? 0) + 1);
      changes.set(device, {
        id: device,
        deviceStatus: 1,
        clientIP: ip,
        connectedAt: at,
        keepAlive,
        seenAt: at,
      });
    },
    disconnected: (device) => {
      const left = (connections.get(device) ?? 1) - 1;
      if (left > 0) {
        connections.set(device, left);
        return;
      }
      connections.delete(device);
      // Its parent keeps it present.
      if (isThere(device)) changes.set(device, { ...offline, id: device, deviceStatus: 1, seenAt: now() });
      else gone(device);
    },
    carried: (device, parent, at) => {
      if (device === parent || !isThere(parent)) return;
      const wasThere = isThere(device);
      carried.put(device, parent);
      if (wasThere) return;
      changes.set(device, { ...offline, id: device, deviceStatus: 1, connectedAt: at, seenAt: at });
      onChange(device, 1);
    },
    save: async () => {
      while (changes.size > 0) await next();
    },
    settle: async () => {
      // Waits only for changes up to now, not for later ones.
      const writes = Math.ceil(changes.size / rowsPerWrite);
      await writing;
      for (let i = 0; i < writes && changes.size > 0; i++) await next().catch(() => undefined);
    },
    get online() {
      return connections.size;
    },
  };
}
