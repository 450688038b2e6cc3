import type { PlatformSubscription } from "../../store/journal/message.js";
import { endsWithConnection, type Subscription, type Will } from "../../store/journal/message.js";
import { createSlice } from "../../store/lib/turns.js";
import { decidedByClient, differs, platformSteps } from "../messages/platform-subscriptions.js";
import { ownSet } from "../messages/shared-empty.js";
import { count, type Meter } from "../meter.js";
import { sessionBounds, sessionsPerDeviceMax } from "./bounds.js";
import type { Changes } from "./changes.js";
import { createDelivery } from "./delivery.js";
import { createDirtySet } from "./dirty-set.js";
import type { Connected, Disconnected, Published, Reached } from "./events.js";
import { createHeldBytes, type HeldBytes } from "./held-bytes.js";
import { createMessageQueues } from "./message-queues.js";
import { createPendingWills } from "./pending-wills.js";
import { isInboxOf } from "./routing.js";
import {
  createSessionState,
  createSpace,
  type DueWill,
  expiresAt,
  isExpired,
  type SessionState,
  type Settled,
  type Space,
} from "./state.js";
import { ownSubscriptions } from "./subscriptions.js";
import { unreleasedBytes, weightOfFilter, weightOfPlatform, weightOfWill } from "./weights.js";

/**
 * The spaces of all devices and the one way in which each kind of record changes them. Every function here is
 * deterministic in state and arguments, but for what time has run out.
 */
export interface SessionRegistry {
  get(device: number): Space | undefined;
  all(): Iterable<Space>;
  /** `present`: the client goes on with what it left. */
  connect(connected: Connected): { readonly state: SessionState; readonly present: boolean };
  disconnect(disconnected: Disconnected): void;
  /** The session of a record. */
  find(device: number, session: number): SessionState | undefined;
  subscribe(state: SessionState, filter: string, subscription: Subscription, at: number): void;
  unsubscribe(state: SessionState, filter: string): void;
  /** Whether the platform wants other subscriptions of the session than it was last brought up to. */
  differsFromPlatform(state: SessionState, wanted: readonly PlatformSubscription[]): boolean;
  subscribeByPlatform(state: SessionState, wanted: readonly PlatformSubscription[], at: number): void;
  publish(published: Published): void;
  /** What it costs to publish there: characters of topic filters that are compared. */
  publishCost(device: number, topic: string): number;
  /** What it costs to subscribe to so many filters at QoS 1 or 2: each looks at what is retained. The same measure. */
  subscribeCost(device: number, filters: number): number;
  /** What it costs to bring a session up to what the platform wants: each new filter looks at what is retained. */
  platformCost(state: SessionState, wanted: readonly PlatformSubscription[]): number;
  /** To every session that it reaches; `settled` is called for each copy of QoS 1. */
  send(published: Published, settled?: Settled): Reached;
  /** A QoS 2 message has come up, or been released. */
  took(state: SessionState, messageID: number): void;
  released(state: SessionState, messageID: number): void;
  received(state: SessionState, messageID: number): void;
  delivered(state: SessionState, messageID: number, acknowledged?: boolean): void;
  willPublished(device: number, connection: number): void;
  /** Wills that are due, each once. */
  dueWills(nowMicros: number): DueWill[];
  /** What all of it takes. */
  readonly held: Pick<HeldBytes, "hasRoom" | "mayGrow" | "of" | "total">;
  /** Sessions whose time is over are dropped. */
  expire(nowMicros: number): Promise<void>;
  /** The device is gone. */
  forget(device: number): void;
}

export function createSessionRegistry(
  changes: Changes,
  meter: Meter,
  loaded: Iterable<Space> = [],
  { heldBytesMax, outgoingMessagesMax } = sessionBounds,
): SessionRegistry {
  const spaces = new Map<number, Space>();
  const marking = createDirtySet(changes, spaces);
  const held = createHeldBytes(heldBytesMax);
  const holdings = createMessageQueues({ changes, marking, meter, held, outgoingMessagesMax });
  const wills = createPendingWills(changes, spaces, held);
  const delivery = createDelivery(holdings);
  for (const space of loaded) {
    spaces.set(space.device, space);
    wills.takeUp(space);
    held.takeUp(space);
  }

  function open({ tenant, device, deviceID }: Connected): Space {
    let space = spaces.get(device);
    if (space === undefined) {
      space = createSpace(tenant, device, deviceID);
      spaces.set(device, space);
    }
    space.deviceID = deviceID;
    return space;
  }

  function leaveIfEmpty({ device, sessions, retained, wills: left }: Space): void {
    if (sessions.size === 0 && retained.size === 0 && left.length === 0) spaces.delete(device);
  }

  function drop(space: Space, state: SessionState): void {
    space.sessions.delete(state.clientID);
    changes.session(state);
    holdings.giveUp(state);
  }

  function find(device: number, session: number): SessionState | undefined {
    for (const state of spaces.get(device)?.sessions.values() ?? []) {
      if (state.session === session) return state;
    }
    return undefined;
  }

  function dropExpired(space: Space, at: number): void {
    for (const state of space.sessions.values()) if (expiresAt(state) <= at) drop(space, state);
  }

  function makeRoom(space: Space, at: number): void {
    if (space.sessions.size < sessionsPerDeviceMax) return;
    // By the record's time: whether they were swept away before must make no difference.
    dropExpired(space, at);
    if (space.sessions.size < sessionsPerDeviceMax) return;
    const away = [...space.sessions.values()].filter(({ connection }) => connection === 0);
    const longest = away.reduce<SessionState | undefined>(
      (found, one) => (found === undefined || one.endedAt < found.endedAt ? one : found),
      undefined,
    );
    if (longest === undefined) return;
    count(meter.dropped, "session_room");
    drop(space, longest);
  }

  function unput(state: SessionState, filter: string): void {
    if (ownSubscriptions(state.subscriptions).delete(filter)) held.grow(state, -weightOfFilter(filter));
  }

  function setWill(state: SessionState, will: Will | null): void {
    held.grow(state, weightOfWill(will) - weightOfWill(state.will));
    state.will = will;
  }

  /** Subscribes, and hands over the retained messages that are asked for. */
  function put(state: SessionState, filter: string, subscription: Subscription, at: number): void {
    const known = state.subscriptions.has(filter);
    const subscriptions = ownSubscriptions(state.subscriptions);
    subscriptions.set(filter, subscription);
    state.subscriptions = subscriptions;
    if (!known) held.grow(state, weightOfFilter(filter));
    marking.session(state);
    const space = spaces.get(state.device);
    if (space !== undefined) delivery.handOver(space, state, { filter, subscription, known, at });
  }

  /** The client has said itself what it wants of its inbox. */
  function takeInbox(state: SessionState, filter: string): void {
    const space = spaces.get(state.device);
    if (space !== undefined && isInboxOf(space.deviceID, filter)) state.hasInbox = false;
  }

  function send(published: Published, settled?: Settled): Reached {
    const space = spaces.get(published.device);
    return space === undefined ? { sent: 0, awaited: 0 } : delivery.send(space, published, settled);
  }

  return {
    get: (device) => spaces.get(device),
    all: () => spaces.values(),
    find,
    connect: (connected) => {
      const { device, clientID, session, at } = connected;
      const space = open(connected);
      const prior = space.sessions.get(clientID);
      const present = prior !== undefined && !connected.cleanStart && expiresAt(prior) > at;
      if (prior !== undefined && !present) drop(space, prior);
      wills.settle(space, connected, present);
      let state = prior;
      if (state === undefined || !present) {
        makeRoom(space, at);
        state = createSessionState(space.tenant, device, clientID, session);
        space.sessions.set(clientID, state);
      }
      state.connection = connected.connection;
      state.endedAt = 0;
      state.expiry = connected.expiry;
      setWill(state, connected.will);
      state.ip = connected.ip;
      state.keepAlive = connected.keepAlive;
      changes.session(state);
      return { state, present };
    },
    disconnect: ({ device, connection, at, orderly, expiry, ofEarlierRun }) => {
      const space = spaces.get(device);
      const state = [...(space?.sessions.values() ?? [])].find((one) => one.connection === connection);
      if (space === undefined || state === undefined) return;
      const { will } = state;
      state.connection = 0;
      state.endedAt = at;
      // One that ends with its connection cannot be prolonged by its goodbye [MQTT-3.14.2-2].
      if (state.expiry !== endsWithConnection) state.expiry = expiry ?? state.expiry;
      setWill(state, null);
      state.link = null;
      if (will !== null && !orderly) wills.leave(space, state, { connection, at, will });
      changes.session(state);
      if (state.expiry === endsWithConnection) drop(space, state);
      for (const [id, message] of state.outgoing) {
        message.sent ||= ofEarlierRun;
        if (message.sent) marking.message(state, id);
      }
      leaveIfEmpty(space);
    },
    differsFromPlatform: (state, wanted) => differs(state.platform, wanted),
    subscribeByPlatform: (state, wanted, at) => {
      const { part, subscribe, unsubscribe } = platformSteps(state.platform, state.subscriptions, wanted);
      held.grow(state, weightOfPlatform(part) - weightOfPlatform(state.platform));
      state.platform = part;
      for (const filter of unsubscribe) unput(state, filter);
      for (const { topic, qos } of subscribe) put(state, topic, { ...byPlatform, qos: qos as 0 | 1 | 2 }, at);
      marking.session(state);
    },
    subscribe: (state, filter, subscription, at) => {
      takeInbox(state, filter);
      decidedByClient(state.platform, filter, "owned");
      put(state, filter, subscription, at);
    },
    unsubscribe: (state, filter) => {
      unput(state, filter);
      decidedByClient(state.platform, filter, "declined");
      takeInbox(state, filter);
      marking.session(state);
    },
    publish: (published) => {
      const space = spaces.get(published.device);
      if (space === undefined) return;
      if (published.retain) holdings.retain(space, published);
      delivery.send(space, published);
    },
    publishCost: (device, topic) => {
      let cost = 0;
      for (const { subscriptions } of spaces.get(device)?.sessions.values() ?? noSessions) {
        cost += subscriptions.costOf(topic);
      }
      return cost;
    },
    subscribeCost: (device, filters) => filters * (spaces.get(device)?.retained.size ?? 0) * retainedCost,
    platformCost: (state, wanted) => {
      const retained = spaces.get(state.device)?.retained.size ?? 0;
      if (retained * wanted.length === 0) return 0;
      let filters = 0;
      for (const { topic, qos } of wanted) if (state.platform?.get(topic)?.qos !== qos) filters++;
      return filters * retained * retainedCost;
    },
    send,
    took: (state, messageID) => {
      const unreleased = ownSet(state.unreleased);
      if (!unreleased.has(messageID)) held.grow(state, unreleasedBytes);
      state.unreleased = unreleased.add(messageID);
      marking.session(state);
    },
    released: (state, messageID) => {
      if (ownSet(state.unreleased).delete(messageID)) held.grow(state, -unreleasedBytes);
      marking.session(state);
    },
    received: holdings.received,
    delivered: (state, messageID, acknowledged = true) => holdings.settle(state, messageID, acknowledged),
    willPublished: (device, connection) => {
      const space = spaces.get(device);
      if (space === undefined) return;
      wills.published(space, connection);
      leaveIfEmpty(space);
    },
    dueWills: wills.due,
    held,
    expire: async (nowMicros) => {
      const slice = createSlice();
      for (const space of spaces.values()) {
        if (slice.isOver()) await slice.next();
        dropExpired(space, nowMicros);
        for (const [topic, retained] of space.retained) {
          if (!isExpired(retained, nowMicros)) continue;
          const nothing = { device: space.device, session: -1, topic, retain: true, payload: none };
          holdings.retain(space, { ...retained, ...nothing });
        }
        leaveIfEmpty(space);
      }
    },
    forget: (device) => {
      const space = spaces.get(device);
      if (space === undefined) return;
      for (const state of [...space.sessions.values()]) drop(space, state);
      wills.giveUp(space);
      holdings.giveUpRetained(space);
      spaces.delete(device);
    },
  };
}

/** To look at a retained message and to queue it, beside a character of a filter. */
const retainedCost = 100;

const noSessions: readonly SessionState[] = [];
const none = new Uint8Array(0);

/** What a client gets of a subscription that it has not made; retained messages once. */
const byPlatform = { noLocal: false, retainAsPublished: false, retainHandling: 1, identifier: null } as const;
