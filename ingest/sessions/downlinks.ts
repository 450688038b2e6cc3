import { endsWithConnection, type MessageProperties } from "../../store/journal/message.js";
import { type ByShard, Elsewhere } from "../directory/by-shard.js";
import type { DeviceEntry } from "../directory/entries.js";
import { mayReceive } from "../policies.js";
import { createWorkBudget } from "../uplinks/work-budget.js";
import { firstAck } from "./first-ack.js";
import { findInboxClient } from "./inboxes.js";
import type { SessionRecords } from "./records.js";
import { isDeviceInbox, routeTo } from "./routing.js";
import type { SessionRegistry } from "./session-registry.js";
import { type DeviceSessions, expiresAt, type Settled } from "./state.js";
import { weightOfMessage } from "./weights.js";

/** A message of ours to one device. */
interface Downlink {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  /** Seconds that it may wait; 0: without end. */
  readonly ttl: number;
  /** Record id of its control log; null: it has none. */
  readonly receipt: number | null;
}

/** How far a message would get now. */
interface Reach {
  readonly entry: DeviceEntry;
  /** What subscriptions grant of the QoS that was asked for. */
  readonly qos: 0 | 1;
  /** A session that outlives its connection would hold it: it waits there, also through a restart. */
  readonly outlives: boolean;
  /** A client is connected now. */
  readonly isLive: boolean;
  /** The client id of a session that is yet to be opened, for its device has not come; else null. */
  readonly opens: string | null;
}

/** none: no session takes it; sent: at QoS 0, no receipt will come; awaited: a receipt may come. */
type Sent = "none" | "sent" | "awaited";

/** Messages of ours on their way to sessions, connected or not. */
export interface SessionDownlinks {
  /**
   * Null: it would reach no session of the device. `protocol`: the device's, if the caller knows it; it saves looking
   * up devices that are not there.
   */
  reach(device: number, protocol: number | null, topic: string, qos: 0 | 1): Promise<Reach | null>;
  /**
   * Sends to every session whose subscriptions cover the topic. Only when it is awaited, `settled` is called once: at the
   * first acknowledgement, or when nobody holds it any more; and `kept` is called with true when a kill would not lose it
   * to a session that outlives its connection; if it is given up at once, `settled` has been called before. With false
   * if the shard goes to another process first: that one settles what has become of it.
   */
  send(to: DeviceEntry, message: Downlink, settled: Settled, kept: (isKept: boolean) => void): Sent;
}

interface DownlinksDeps {
  readonly registry: Pick<SessionRegistry, "get" | "send" | "held" | "publishCost">;
  readonly records: Pick<SessionRecords, "send" | "openInbox">;
  readonly directory: {
    peek(id: number): DeviceEntry | undefined;
    get(id: number): Promise<DeviceEntry | undefined>;
  };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls the listener if the shard closes, until what is returned is called. */
  onClosed(listener: () => void): () => void;
}

/**
 * Most bytes of a payload: a carried message, whose text JSON may make six times as long, fits a record of the journal
 * with its topic.
 */
const downlinkBytesMax = 640 * 1024;

export function createDownlinks(deps: DownlinksDeps): SessionDownlinks {
  const { registry, records, directory, now, onClosed } = deps;
  // A budget of its own: records that wait for a full disk must not hold up what is asked here.
  const work = createWorkBudget();
  function findReach(entry: DeviceEntry, topic: string, asked: 0 | 1): Reach | null {
    if (!mayBeSent(entry, topic)) return null;
    const { deviceID, protocol } = entry.device;
    const opens = findInboxClient(protocol);
    const deviceSessions = registry.get(entry.id);
    // A message that waits is one that is acknowledged.
    const qos = opens === null ? asked : 1;
    const found = deviceSessions === undefined ? null : reachIn(deviceSessions, entry, topic, qos);
    if (found !== null || opens === null || !isDeviceInbox(deviceID, topic)) return found;
    return { entry, qos: 1, outlives: true, isLive: false, opens };
  }

  function reachIn(
    deviceSessions: DeviceSessions,
    entry: DeviceEntry,
    topic: string,
    asked: 0 | 1,
  ): Reach | null {
    let qos = -1;
    let outlives = false;
    let isLive = false;
    for (const state of deviceSessions.sessions.values()) {
      const route = routeTo(state, deviceSessions.deviceID, topic);
      if (route === null) continue;
      const granted = Math.min(route.qos, asked);
      const queues = granted > 0 && state.expiry !== endsWithConnection;
      if (state.link === null && (!queues || expiresAt(state) <= now() * 1000)) continue;
      qos = Math.max(qos, granted);
      outlives ||= queues;
      isLive ||= state.link !== null;
    }
    return qos < 0 ? null : { entry, qos: qos as 0 | 1, outlives, isLive, opens: null };
  }

  return {
    reach: async (device, protocol, topic, qos) => {
      const mayWait = protocol === null || findInboxClient(protocol) !== null;
      if (!mayWait && registry.get(device) === undefined) return null;
      const entry = directory.peek(device) ?? (await directory.get(device));
      if (entry === undefined) return null;
      // The result is remembered: the sending that follows costs nothing more.
      const cost = registry.publishCost(device, topic);
      return work.run(entry.device.tenant, cost, () => findReach(entry, topic, qos));
    },
    send: (to, { ttl, ...downlink }, settled, kept) => {
      const found = findReach(to, downlink.topic, downlink.qos);
      if (found === null) return "none";
      const message = { ...downlink, properties: expiry(ttl) };
      if (message.payload.length > downlinkBytesMax) return "none";
      if (found.outlives) {
        // No queue would take it: then it need not go through the journal.
        if (!registry.held.hasRoom(to.device.tenant, weightOfMessage(message))) return "none";
        if (found.opens !== null) records.openInbox(to, found.opens);
        // Whatever enters a queue that outlives its connection goes through the journal.
        const unfollow = onClosed(() => kept(false));
        records.send(to, message, settled, () => {
          unfollow();
          kept(true);
        });
        return "awaited";
      }
      const copies = firstAck(settled);
      const at = now() * 1000;
      const published = { ...message, device: to.id, session: -1, retain: false, at };
      const { sent, awaited } = registry.send(published, copies.settled);
      if (awaited > 0) copies.begin(awaited);
      else if (sent === 0) return "none";
      if (awaited === 0) return "sent";
      kept(true);
      return "awaited";
    },
  };
}

/** Whether a device may get what we send it: it is not blocked, and its policies allow it the topic. */
export function mayBeSent(entry: DeviceEntry, topic: string): boolean {
  return entry.device.blocked !== 1 && mayReceive(entry, topic);
}

function expiry(ttl: number): MessageProperties | null {
  return ttl === 0 ? null : { messageExpiryInterval: ttl };
}

/** Joins the downlinks of all shards of the process. */
export function downlinksOfShards(
  shards: ByShard<SessionDownlinks>,
  directory: DownlinksDeps["directory"],
): SessionDownlinks {
  const [only] = shards.all;
  if (shards.isSingle && only !== undefined) return only;
  return {
    reach: async (device, ...asked) => {
      const entry = directory.peek(device) ?? (await directory.get(device));
      const found = entry === undefined ? null : await shards.whenPlaced(entry);
      return found === null || found instanceof Elsewhere ? null : found.reach(device, ...asked);
    },
    // Those above the device were at hand when it was asked how far the message would get.
    send: (to, ...message) => {
      const found = shards.peek(to);
      return found === null || found instanceof Elsewhere ? "none" : found.send(to, ...message);
    },
  };
}
