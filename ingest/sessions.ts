import type { DeviceEntry } from "./directory.js";
import type { EndReason } from "./meter.js";
import { covers } from "./topics.js";

/** One live connection of a device, whatever its transport. */
export interface Session {
  readonly clientID: string;
  readonly entry: DeviceEntry;
  /** Token that it authenticated with; another one throws it out. */
  readonly token: string;
  readonly subscriptions: ReadonlyMap<string, number>;
  deliver(topic: string, payload: Uint8Array, qos: number): void;
  end(reason: EndReason): void;
}

/** Sessions of one device that may live side by side. */
export const sessionsPerDeviceMax = 8;

/**
 * The live sessions, by device and client id. Each device is a space of its own: what its clients publish
 * reaches the device's own subscribers and nobody else.
 */
export interface Sessions {
  /** Takes over a session of the same client id; false when the device has too many. */
  open(session: Session): boolean;
  close(session: Session): void;
  /** Delivers within the device's space. */
  publish(device: number, topic: string, payload: Uint8Array, qos: number): void;
  /** Throws out whoever no longer fits the device's row. */
  check(device: number, entry: DeviceEntry | undefined): void;
  /** Ends up to `most` sessions at once, so that closing thousands does not hold the loop. */
  endAll(reason: EndReason): Promise<void>;
  readonly size: number;
}

const endsPerTurn = 200;

export function createSessions(): Sessions {
  const spaces = new Map<number, Map<string, Session>>();
  let size = 0;

  return {
    open: (session) => {
      const space = spaces.get(session.entry.id) ?? new Map<string, Session>();
      space.get(session.clientID)?.end("taken_over");
      if (space.size >= sessionsPerDeviceMax) return false;
      spaces.set(session.entry.id, space);
      space.set(session.clientID, session);
      size++;
      return true;
    },
    close: (session) => {
      const space = spaces.get(session.entry.id);
      if (space?.get(session.clientID) !== session) return;
      space.delete(session.clientID);
      size--;
      if (space.size === 0) spaces.delete(session.entry.id);
    },
    publish: (device, topic, payload, qos) => {
      const space = spaces.get(device);
      if (space === undefined) return;
      for (const session of space.values()) {
        const granted = grantedQos(session.subscriptions, topic);
        if (granted !== null) session.deliver(topic, payload, Math.min(qos, granted));
      }
    },
    check: (device, entry) => {
      const row = entry?.device;
      for (const session of [...(spaces.get(device)?.values() ?? [])]) {
        if (row === undefined || row.blocked === 1 || row.authType !== 1 || row.token !== session.token) {
          session.end("thrown_out");
        }
      }
    },
    endAll: async (reason) => {
      const all = [...spaces.values()].flatMap((space) => [...space.values()]);
      for (const [i, session] of all.entries()) {
        session.end(reason);
        if (i % endsPerTurn === endsPerTurn - 1) await new Promise((resolve) => setImmediate(resolve));
      }
    },
    get size() {
      return size;
    },
  };
}

/** The highest QoS of the filters that cover the topic [MQTT-3.3.5-1], or null. */
function grantedQos(subscriptions: ReadonlyMap<string, number>, topic: string): number | null {
  let granted: number | null = null;
  for (const [filter, qos] of subscriptions) {
    if ((granted === null || qos > granted) && covers(filter, topic)) granted = qos;
  }
  return granted;
}
