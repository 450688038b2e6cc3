import type { PlatformSubscription } from "../../store/journal/message.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import { type ClientCertificate, isEntitled } from "../access/credentials.js";
import type { ByShard } from "../directory/by-shard.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { EndReason } from "../meter.js";
import { sessionsPerDeviceMax } from "./bounds.js";
import type { SessionRegistry } from "./session-registry.js";
import type { SessionState } from "./state.js";

/** What a connection speaks; of MQTT the level: 3 is 3.1, 4 is 3.1.1. */
export const protocols = ["mqtt3", "mqtt4", "mqtt5", "http", "websocket"] as const;
export type Protocol = (typeof protocols)[number];

/** One live connection of a device, whatever its transport. */
export interface DeviceConnection {
  readonly clientID: string;
  readonly protocol: Protocol;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly entry: DeviceEntry;
  /** What it authenticated with; if the device's own changes, the connection is thrown out. */
  readonly username: string;
  readonly token: string;
  /** The certificate that it authenticated with; null if none was asked for. */
  readonly certificate: ClientCertificate | null;
  /** Null until its CONNECT is on disk. */
  readonly state: SessionState | null;
  /** `detail`: text for its client instead of the usual one, where the protocol has a place for it. */
  end(reason: EndReason, detail?: string): void;
  /** Brings it up to what the platform subscribes the device to. */
  subscribeByPlatform(wanted: readonly PlatformSubscription[]): void;
}

/** The live connections, by device and client id. */
export interface Connections {
  /** Takes over a connection of the same client id; false if the device has too many. */
  open(session: DeviceConnection): boolean;
  close(session: DeviceConnection): void;
  /** Whether any client of the device is connected. */
  has(device: number): boolean;
  find(device: number, clientID: string): DeviceConnection | undefined;
  /** Sends to every client of the device at QoS 0, subscribed or not; false if none takes it. */
  sendToAll(device: number, topic: string, payload: Uint8Array): boolean;
  /** Brings every session of the device up to what the platform subscribes it to. */
  subscribeByPlatform(device: number, wanted: readonly PlatformSubscription[]): void;
  /** Throws out connections that no longer fit the device's row. */
  check(device: number, entry: DeviceEntry | undefined): void;
  /** Ends all connections, some in each turn, so that closing thousands does not hold the loop. */
  endAll(reason: EndReason): Promise<void>;
  readonly size: number;
  /** Bytes that a tenant's connections have been handed and have not taken. */
  waitingBytes(tenant: number): number;
}

interface ConnectionsDeps {
  readonly registry: Pick<SessionRegistry, "forget">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const endsPerTurn = 200;

export function createConnections({ registry, now }: ConnectionsDeps): Connections {
  const live = new Map<number, Map<string, DeviceConnection>>();
  let size = 0;

  const of = (device: number): Iterable<DeviceConnection> => live.get(device)?.values() ?? [];

  return {
    open: (session) => {
      const deviceSessions = live.get(session.entry.id) ?? new Map<string, DeviceConnection>();
      deviceSessions.get(session.clientID)?.end("taken_over");
      if (deviceSessions.size >= sessionsPerDeviceMax) return false;
      live.set(session.entry.id, deviceSessions);
      deviceSessions.set(session.clientID, session);
      size++;
      return true;
    },
    close: (session) => {
      const deviceSessions = live.get(session.entry.id);
      if (deviceSessions?.get(session.clientID) !== session) return;
      deviceSessions.delete(session.clientID);
      size--;
      if (deviceSessions.size === 0) live.delete(session.entry.id);
    },
    has: (device) => live.has(device),
    find: (device, clientID) => live.get(device)?.get(clientID),
    sendToAll: (device, topic, payload) => {
      const at = now() * 1000;
      let taken = false;
      for (const { state } of of(device)) {
        const message = {
          topic,
          payload,
          qos: 0,
          retain: false,
          properties: null,
          identifiers: [],
          at,
        } as const;
        if (state?.link?.deliver(message)) taken = true;
      }
      return taken;
    },
    subscribeByPlatform: (device, wanted) => {
      for (const session of of(device)) session.subscribeByPlatform(wanted);
    },
    check: (device, entry) => {
      for (const session of [...of(device)]) {
        if (entry === undefined || !isEntitled(entry, session)) session.end("thrown_out");
      }
      if (entry === undefined) registry.forget(device);
    },
    endAll: async (reason) => {
      const all = [...live.values()].flatMap((deviceSessions) => [...deviceSessions.values()]);
      for (const [i, connection] of all.entries()) {
        connection.end(reason);
        if (i % endsPerTurn === endsPerTurn - 1) await nextTurn();
      }
    },
    get size() {
      return size;
    },
    waitingBytes: (tenant) => {
      let bytes = 0;
      for (const deviceSessions of live.values()) {
        for (const { state } of deviceSessions.values()) {
          if (state?.tenant === tenant) bytes += state.link?.waitingBytes ?? 0;
        }
      }
      return bytes;
    },
  };
}

/** Joins the connections of all shards of the process. */
export function connectionsOfShards(
  shards: Pick<ByShard<Connections>, "all">,
): Pick<Connections, "has" | "sendToAll" | "waitingBytes"> {
  return {
    has: (device) => shards.all.some((one) => one.has(device)),
    sendToAll: (device, topic, payload) =>
      shards.all.find((one) => one.has(device))?.sendToAll(device, topic, payload) ?? false,
    waitingBytes: (tenant) => shards.all.reduce((sum, one) => sum + one.waitingBytes(tenant), 0),
  };
}
