/**
 * The client through which a command reaches its device: its own, that of the parent that relays to it, or the broker.
 */
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { inboxTopic } from "../../ingest/messages/topics.js";
import { mayReceive } from "../../ingest/policies.js";
import type { Connections } from "../../ingest/sessions/connections.js";
import type { SessionDownlinks } from "../../ingest/sessions/downlinks.js";
import type { CommandTarget } from "../../store/metadata/commands/command-targets.js";

/** Found before the command's log is written. */
export interface CommandRoute {
  /** The device itself, or the parent that relays to it. */
  readonly to: DeviceEntry;
  /** String id of the device if its parent relays to it; null if the command goes directly. */
  readonly relayedTo: string | null;
  /** The command waits in the journal, where a kill cannot lose it. */
  readonly outlives: boolean;
  /** The QoS that the receiver grants, at most the one asked for. */
  readonly qos: 0 | 1;
  /** A client is there now. */
  readonly isLive: boolean;
}

/** A broker at which devices may be that have no connection here. */
export interface ExternalBroker {
  readonly isUp: boolean;
  /** Sends at QoS 0; false if nobody takes it. */
  send(device: number, topic: string, payload: Uint8Array): boolean;
}

export interface RoutingDeps {
  readonly sessions: Pick<Connections, "has" | "sendToAll">;
  readonly downlinks: Pick<SessionDownlinks, "reach">;
  readonly externalBroker?: ExternalBroker;
  readonly directory: { get(id: number): Promise<DeviceEntry | undefined> };
}

interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
}

interface Routing {
  /** Null if nobody is there for the command, or a policy forbids it. */
  find(target: CommandTarget, topic: string, qos: 0 | 1): Promise<CommandRoute | null>;
  /** Sends to every client of the device, or of the parent that relays to it, without a receipt. */
  sendToAll(target: CommandTarget, message: Message): boolean;
  /** Whether any client of the device is connected, or of the parent that may relay the topic to it. */
  isConnected(target: CommandTarget, topic: string): Promise<boolean>;
}

type Relayed = CommandTarget & { readonly carrier: number };

export function createRouting({ sessions, downlinks, externalBroker, directory }: RoutingDeps): Routing {
  const isRelayed = (target: CommandTarget): target is Relayed =>
    target.carrier !== null && !sessions.has(target.id);

  /** A device's own rules also apply to messages that its parent relays to it. */
  async function mayBeRelayed({ id }: CommandTarget, topic: string): Promise<boolean> {
    const entry = await directory.get(id);
    return entry !== undefined && mayReceive(entry, topic);
  }

  async function reach(
    device: number,
    protocol: number | null,
    relayedTo: string | null,
    topic: string,
    qos: 0 | 1,
  ): Promise<CommandRoute | null> {
    const found = await downlinks.reach(device, protocol, topic, qos);
    if (found === null) return null;
    const { entry: to, outlives, qos: granted, isLive } = found;
    return { to, relayedTo, outlives, qos: granted, isLive };
  }

  const sendTo = (device: number, { topic, payload }: Message): boolean =>
    sessions.sendToAll(device, topic, payload) || externalBroker?.send(device, topic, payload) === true;

  return {
    find: async (target, topic, qos) => {
      if (target.blocked === 1) return null;
      if (isRelayed(target)) {
        if (!(await mayBeRelayed(target, topic))) return null;
        const relayed = await reach(target.carrier, null, target.deviceID, inboxTopic, qos);
        if (relayed !== null) return relayed;
      }
      return reach(target.id, target.protocol, null, topic, qos);
    },
    sendToAll: (target, message) => {
      if (!isRelayed(target)) return sendTo(target.id, message);
      return sendTo(target.carrier, relayedMessage(target.deviceID, message));
    },
    isConnected: async (target, topic) => {
      if (target.blocked === 1) return false;
      const isThere = (id: number) => sessions.has(id) || externalBroker?.isUp === true;
      if (!isRelayed(target)) return isThere(target.id);
      return isThere(target.carrier) && mayBeRelayed(target, topic);
    },
  };
}

/** A message to a device in the form in which its parent receives it, in the parent's own inbox. */
export function relayedMessage(deviceID: string, { topic, payload }: Message): Message {
  const text = Buffer.from(payload).toString("utf8");
  return {
    topic: inboxTopic,
    payload: Buffer.from(JSON.stringify({ DeviceID: deviceID, topic, payload: text })),
  };
}
