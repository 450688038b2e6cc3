import type { DeviceEntry } from "./directory.js";
import { count, type EndReason, type Meter } from "./meter.js";
import { applyPlatform, type PlatformPart, type PlatformSubscription } from "./platform-subscriptions.js";
import { mayReceive } from "./policies.js";
import { covers, inboxAlias, inboxQos, inboxTopic, looksLikeInbox } from "./topics.js";

/** What became of a message of QoS 1 or 2: acknowledged, or the connection ended without. */
export type Settled = (acknowledged: boolean) => void;

/** One live connection of a device, whatever its transport. */
export interface Session {
  readonly clientID: string;
  readonly entry: DeviceEntry;
  /** Token that it authenticated with; another one throws it out. */
  readonly token: string;
  readonly subscriptions: Map<string, number>;
  /** Which of them the platform has made. */
  platform?: PlatformPart | null;
  /** Whether the subscription to the inbox that every session begins with still stands. */
  readonly hasInbox: boolean;
  /** False where the message is dropped; `settled` is called once for one of QoS 1 or 2 that is not. */
  deliver(topic: string, payload: Uint8Array, qos: number, settled?: Settled): boolean;
  end(reason: EndReason): void;
}

/** Sessions of one device that may live side by side. */
export const sessionsPerDeviceMax = 8;

/** A message of ours to one device. */
export interface Downlink {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
}

/** none: nobody is there for it; sent: at QoS 0, no receipt will come; awaited: a receipt may come. */
export type Sent = "none" | "sent" | "awaited";

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
  /** Whether a client is there that a message on the topic would reach. */
  reaches(device: number, topic: string): boolean;
  /** Whether any client of the device is there. */
  has(device: number): boolean;
  /**
   * Sends to every client whose subscriptions cover the topic. When it is awaited, `settled` is called once: at the
   * first acknowledgement, or when the last of the connections has ended without.
   */
  send(device: number, message: Downlink, settled: Settled): Sent;
  /** Sends to every client of the device at QoS 0, subscribed or not; false where none takes it. */
  sendToAll(device: number, topic: string, payload: Uint8Array): boolean;
  /** Brings every session of the device up to what the platform subscribes it to. */
  applyPlatform(device: number, wanted: readonly PlatformSubscription[]): void;
  /** Throws out whoever no longer fits the device's row. */
  check(device: number, entry: DeviceEntry | undefined): void;
  /** Ends up to `most` sessions at once, so that closing thousands does not hold the loop. */
  endAll(reason: EndReason): Promise<void>;
  readonly size: number;
}

const endsPerTurn = 200;

/** `meter` counts the deliveries that policies withhold. */
export function createSessions(meter?: Pick<Meter, "policyRefused">): Sessions {
  const spaces = new Map<number, Map<string, Session>>();
  let size = 0;
  const withheld = (): void => {
    if (meter !== undefined) count(meter.policyRefused, "receive");
  };

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
      const inbox = looksLikeInbox(topic);
      for (const session of space.values()) {
        if (inbox) {
          const reach = reachOf(session, topic);
          if (reach !== null) session.deliver(reach.topic, payload, Math.min(qos, reach.qos));
        } else {
          const granted = grantedQos(session.subscriptions, topic);
          if (granted === null) continue;
          if (mayReceive(session.entry, topic)) session.deliver(topic, payload, Math.min(qos, granted));
          else withheld();
        }
      }
    },
    reaches: (device, topic) => {
      for (const session of spaces.get(device)?.values() ?? []) {
        if (reachOf(session, topic) !== null) return true;
      }
      return false;
    },
    has: (device) => spaces.has(device),
    send: (device, message, settled) => sendOnce(spaces.get(device)?.values() ?? [], message, settled),
    sendToAll: (device, topic, payload) => {
      let taken = false;
      for (const session of spaces.get(device)?.values() ?? []) {
        if (!mayReceive(session.entry, topic)) withheld();
        else if (session.deliver(topic, payload, 0)) taken = true;
      }
      return taken;
    },
    applyPlatform: (device, wanted) => {
      for (const session of spaces.get(device)?.values() ?? []) {
        applyPlatform(session, wanted);
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

/** The first acknowledgement settles it; without one, the end of the last connection does. */
function sendOnce(sessions: Iterable<Session>, message: Downlink, settled: Settled): Sent {
  let awaited = 0;
  let sent = false;
  let done = false;
  const end: Settled = (acknowledged) => {
    awaited--;
    if (done || (!acknowledged && awaited > 0)) return;
    done = true;
    settled(acknowledged);
  };
  for (const session of sessions) {
    const reach = reachOf(session, message.topic);
    if (reach === null) continue;
    const qos = Math.min(message.qos, reach.qos);
    if (!session.deliver(reach.topic, message.payload, qos, qos === 0 ? undefined : end)) continue;
    if (qos === 0) sent = true;
    else awaited++;
  }
  if (awaited > 0) return "awaited";
  return sent ? "sent" : "none";
}

interface Reach {
  /** The name under which the client gets it. */
  readonly topic: string;
  readonly qos: number;
}

/** How a message on the topic reaches a client: the inbox has two names, and one subscription of its own. */
function reachOf(session: Session, topic: string): Reach | null {
  const { subscriptions, hasInbox } = session;
  if (!mayReceive(session.entry, topic)) return null;
  if (!looksLikeInbox(topic) || !isInboxOf(session, topic)) {
    const qos = grantedQos(subscriptions, topic);
    return qos === null ? null : { topic, qos };
  }
  const alias = inboxAlias(session.entry.device.deviceID);
  const named = grantedQos(subscriptions, inboxTopic);
  const aliased = grantedQos(subscriptions, alias);
  if (named === null && aliased === null && !hasInbox) return null;
  return {
    topic: named === null && aliased !== null ? alias : inboxTopic,
    qos: Math.max(named ?? 0, aliased ?? 0, hasInbox ? inboxQos : 0),
  };
}

function isInboxOf(session: Session, topic: string): boolean {
  return topic === inboxTopic || topic === inboxAlias(session.entry.device.deviceID);
}

/** The highest QoS of the filters that cover the topic [MQTT-3.3.5-1], or null. */
function grantedQos(subscriptions: ReadonlyMap<string, number>, topic: string): number | null {
  let granted: number | null = null;
  for (const [filter, qos] of subscriptions) {
    if ((granted === null || qos > granted) && covers(filter, topic)) granted = qos;
  }
  return granted;
}
