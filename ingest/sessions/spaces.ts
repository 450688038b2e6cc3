import { endsWithConnection, type MessageProperties, type Subscription, type Will } from "../message.js";
import { count, type Meter } from "../meter.js";
import {
  decidedByClient,
  differs,
  type PlatformSubscription,
  platformSteps,
} from "../platform-subscriptions.js";
import { covers } from "../topics.js";
import {
  heldBytesMax,
  outgoingBytesMax,
  outgoingMessagesMax,
  retainedBytesMax,
  retainedMessagesMax,
  sessionsPerDeviceMax,
} from "./bounds.js";
import type { Changes } from "./changes.js";
import { isInboxOf, routeTo } from "./routing.js";
import {
  bytesOf,
  createSessionState,
  createSpace,
  type DueWill,
  expiresAt,
  isExpired,
  type Message,
  type Outgoing,
  ownMap,
  ownSet,
  type SessionState,
  type Settled,
  type Space,
} from "./state.js";

/** A CONNECT that was accepted. */
export interface Connected {
  readonly tenant: number;
  readonly device: number;
  readonly deviceID: string;
  readonly clientID: string;
  readonly session: number;
  /** Journal id of its record. */
  readonly connection: number;
  /** Microseconds since 1970. */
  readonly at: number;
  readonly cleanStart: boolean;
  readonly expiry: number;
  readonly will: Will | null;
  readonly ip: string;
  /** Seconds. */
  readonly keepAlive: number;
}

export interface Disconnected {
  readonly device: number;
  readonly connection: number;
  readonly at: number;
  /** The client said goodbye: there is no will. */
  readonly orderly: boolean;
  /** Said with the goodbye; null: as at CONNECT. */
  readonly expiry: number | null;
  /** Another run held the connection: whatever was queued may have been sent. */
  readonly ofEarlierRun: boolean;
}

/** A message within a device's space, from one of its clients or from us. */
export interface Published {
  readonly device: number;
  /** Session of the publisher, or -1. */
  readonly session: number;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly retain: boolean;
  readonly properties: MessageProperties | null;
  readonly at: number;
}

/** How many of a downlink's copies wait for an acknowledgement, and whether any was taken at all. */
export interface Reached {
  readonly sent: number;
  readonly awaited: number;
}

/**
 * The spaces of all devices and the one way in which each kind of record changes them. Every function here is
 * deterministic in state and arguments, but for what time has run out.
 */
export interface Spaces {
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
  /** Sessions whose time is over are dropped. */
  expire(nowMicros: number): void;
  /** The device is gone. */
  forget(device: number): void;
}

export function createSpaces(changes: Changes, meter: Meter, loaded: Iterable<Space> = []): Spaces {
  const spaces = new Map<number, Space>();
  const withWills = new Set<Space>();
  let heldBytes = 0;
  for (const space of loaded) {
    spaces.set(space.device, space);
    if (space.wills.length > 0) withWills.add(space);
    heldBytes += space.retainedBytes;
    for (const { outgoingBytes } of space.sessions.values()) heldBytes += outgoingBytes;
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

  /** What ends with its connection is not worth saving beyond that it is there. */
  const outlives = ({ expiry }: SessionState): boolean => expiry !== endsWithConnection;
  const isThere = (state: SessionState): boolean =>
    spaces.get(state.device)?.sessions.get(state.clientID) === state;
  const touch = (state: SessionState): void => {
    // One that has been replaced must not stand for the one in its place.
    if (outlives(state) && isThere(state)) changes.session(state);
  };
  const touchMessage = (state: SessionState, messageID: number): void => {
    if (outlives(state)) changes.message(state, messageID);
  };

  function leaveIfEmpty({ device, sessions, retained, wills }: Space): void {
    if (sessions.size === 0 && retained.size === 0 && wills.length === 0) spaces.delete(device);
  }

  function drop(space: Space, state: SessionState): void {
    space.sessions.delete(state.clientID);
    heldBytes -= state.outgoingBytes;
    changes.session(state);
    const outgoing = ownMap(state.outgoing);
    for (const { settled } of outgoing.values()) settled?.(false);
    // What is still on its way to the disk for it must not be taken off a second time.
    outgoing.clear();
    state.outgoingBytes = 0;
  }

  function find(device: number, session: number): SessionState | undefined {
    for (const state of spaces.get(device)?.sessions.values() ?? []) {
      if (state.session === session) return state;
    }
    return undefined;
  }

  /** A session that ends takes its delayed will with it to the front; one that goes on takes it back. */
  function settleWills(space: Space, { session, at }: Connected, present: boolean): void {
    for (const due of [...space.wills]) {
      if (due.session !== session || due.dueAt <= at) continue;
      if (present) space.wills.splice(space.wills.indexOf(due), 1);
      else due.dueAt = at;
      changes.will(due.device, due.connection);
    }
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

  function queue(state: SessionState, message: Message, settled?: Settled): boolean {
    const bytes = bytesOf(message);
    const full =
      state.outgoing.size >= outgoingMessagesMax ||
      state.outgoingBytes + bytes > outgoingBytesMax ||
      heldBytes + bytes > heldBytesMax;
    if (full) {
      count(meter.dropped, "queue_full");
      return false;
    }
    const messageID = nextID(state);
    const qos = message.qos === 2 ? 2 : 1;
    const outgoing: Outgoing = { ...message, qos, messageID, sent: false, received: false, settled };
    const queued = ownMap(state.outgoing);
    queued.set(messageID, outgoing);
    state.outgoing = queued;
    state.outgoingBytes += bytes;
    heldBytes += bytes;
    touchMessage(state, messageID);
    // Its last packet id has changed.
    touch(state);
    state.link?.send(outgoing);
    return true;
  }

  function retain(space: Space, { topic, payload, qos, properties, at }: Published): void {
    const old = space.retained.get(topic);
    const oldBytes = old === undefined ? 0 : bytesOf({ topic, payload: old.payload });
    const bytes = payload.length === 0 ? 0 : bytesOf({ topic, payload });
    const grown = bytes - oldBytes;
    const full =
      (old === undefined && space.retained.size >= retainedMessagesMax) ||
      space.retainedBytes + grown > retainedBytesMax ||
      heldBytes + grown > heldBytesMax;
    if (bytes > 0 && full) return count(meter.dropped, "retained_full");
    if (bytes === 0 && old === undefined) return;
    const retained = ownMap(space.retained);
    if (bytes === 0) retained.delete(topic);
    else retained.set(topic, { payload: Uint8Array.from(payload), qos: qos as 0 | 1 | 2, properties, at });
    space.retained = retained;
    space.retainedBytes += grown;
    heldBytes += grown;
    changes.retained(space.device, topic);
  }

  function send(published: Published, settled?: Settled): Reached {
    const space = spaces.get(published.device);
    let sent = 0;
    let awaited = 0;
    if (space === undefined) return { sent, awaited };
    const { topic, session, properties, at } = published;
    let kept: Uint8Array | null = null;
    for (const state of space.sessions.values()) {
      const route = routeTo(state, space.deviceID, topic, state.session === session);
      if (route === null) continue;
      const qos = Math.min(published.qos, route.qos) as 0 | 1 | 2;
      const { identifiers } = route;
      const envelope = {
        topic: route.topic,
        retain: published.retain && route.retainAsPublished,
        properties,
      };
      if (qos === 0) {
        const message: Message = { ...envelope, payload: published.payload, qos, identifiers, at };
        if (state.link?.deliver(message)) sent++;
      } else {
        // The bytes that came in belong to a larger buffer.
        kept ??= Uint8Array.from(published.payload);
        if (queue(state, { ...envelope, payload: kept, qos, identifiers, at }, settled)) awaited++;
      }
    }
    return { sent, awaited };
  }

  /** Subscribes, and hands over the retained messages that are asked for. */
  function put(state: SessionState, filter: string, subscription: Subscription, at: number): void {
    const known = state.subscriptions.has(filter);
    const subscriptions = ownMap(state.subscriptions);
    subscriptions.set(filter, subscription);
    state.subscriptions = subscriptions;
    touch(state);
    if (subscription.retainHandling === 2 || (subscription.retainHandling === 1 && known)) return;
    const identifiers = subscription.identifier === null ? [] : [subscription.identifier];
    for (const [topic, retained] of spaces.get(state.device)?.retained ?? []) {
      if (!covers(filter, topic) || isExpired(retained, at)) continue;
      const qos = Math.min(retained.qos, subscription.qos) as 0 | 1 | 2;
      const message: Message = { ...retained, topic, qos, retain: true, identifiers };
      if (qos > 0) queue(state, message);
      else state.link?.deliver(message);
    }
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
      settleWills(space, connected, present);
      let state = prior;
      if (state === undefined || !present) {
        makeRoom(space, at);
        state = createSessionState(device, clientID, session);
        space.sessions.set(clientID, state);
      }
      state.connection = connected.connection;
      state.endedAt = 0;
      state.expiry = connected.expiry;
      state.will = connected.will;
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
      state.will = null;
      state.link = null;
      if (will !== null && !orderly) {
        const { session, clientID, ip } = state;
        const dueAt = at + Math.min(will.delay, state.expiry) * 1e6;
        withWills.add(space);
        space.wills.push({ tenant: space.tenant, device, session, clientID, ip, connection, dueAt, will });
        changes.will(device, connection);
      }
      changes.session(state);
      if (state.expiry === endsWithConnection) drop(space, state);
      for (const [id, message] of state.outgoing) {
        message.sent ||= ofEarlierRun;
        if (message.sent) touchMessage(state, id);
      }
      leaveIfEmpty(space);
    },
    differsFromPlatform: (state, wanted) => differs(state.platform, wanted),
    subscribeByPlatform: (state, wanted, at) => {
      const { part, subscribe, unsubscribe } = platformSteps(state.platform, state.subscriptions, wanted);
      state.platform = part;
      for (const filter of unsubscribe) ownMap(state.subscriptions).delete(filter);
      for (const { topic, qos } of subscribe) put(state, topic, { ...byPlatform, qos: qos as 0 | 1 | 2 }, at);
      touch(state);
    },
    subscribe: (state, filter, subscription, at) => {
      const space = spaces.get(state.device);
      if (space !== undefined && isInboxOf(space.deviceID, filter)) state.hasInbox = false;
      decidedByClient(state.platform, filter, "owned");
      put(state, filter, subscription, at);
    },
    unsubscribe: (state, filter) => {
      ownMap(state.subscriptions).delete(filter);
      decidedByClient(state.platform, filter, "declined");
      const space = spaces.get(state.device);
      if (space !== undefined && isInboxOf(space.deviceID, filter)) state.hasInbox = false;
      touch(state);
    },
    publish: (published) => {
      const space = spaces.get(published.device);
      if (space === undefined) return;
      if (published.retain) retain(space, published);
      send(published);
    },
    send,
    took: (state, messageID) => {
      const unreleased = ownSet(state.unreleased);
      unreleased.add(messageID);
      state.unreleased = unreleased;
      touch(state);
    },
    released: (state, messageID) => {
      ownSet(state.unreleased).delete(messageID);
      touch(state);
    },
    received: (state, messageID) => {
      const message = state.outgoing.get(messageID);
      if (message === undefined) return;
      message.received = true;
      touchMessage(state, messageID);
    },
    delivered: (state, messageID, acknowledged = true) => {
      const message = state.outgoing.get(messageID);
      if (message === undefined) return;
      const bytes = bytesOf(message);
      ownMap(state.outgoing).delete(messageID);
      state.outgoingBytes -= bytes;
      heldBytes -= bytes;
      touchMessage(state, messageID);
      message.settled?.(acknowledged);
    },
    willPublished: (device, connection) => {
      const space = spaces.get(device);
      const index = space?.wills.findIndex((due) => due.connection === connection) ?? -1;
      if (space === undefined || index < 0) return;
      space.wills.splice(index, 1);
      changes.will(device, connection);
      leaveIfEmpty(space);
    },
    dueWills: (nowMicros) => {
      const due: DueWill[] = [];
      for (const space of withWills) {
        if (space.wills.length === 0 || spaces.get(space.device) !== space) withWills.delete(space);
        else due.push(...space.wills.filter(({ dueAt }) => dueAt <= nowMicros));
      }
      return due;
    },
    expire: (nowMicros) => {
      for (const space of spaces.values()) {
        dropExpired(space, nowMicros);
        for (const [topic, retained] of space.retained) {
          if (!isExpired(retained, nowMicros)) continue;
          retain(space, {
            ...retained,
            device: space.device,
            session: -1,
            topic,
            retain: true,
            payload: none,
          });
        }
        leaveIfEmpty(space);
      }
    },
    forget: (device) => {
      const space = spaces.get(device);
      if (space === undefined) return;
      for (const state of [...space.sessions.values()]) drop(space, state);
      for (const topic of space.retained.keys()) changes.retained(device, topic);
      for (const { connection } of space.wills) changes.will(device, connection);
      heldBytes -= space.retainedBytes;
      spaces.delete(device);
    },
  };
}

const none = new Uint8Array(0);

/** What a client gets of a subscription that it has not made; retained messages once. */
const byPlatform = { noLocal: false, retainAsPublished: false, retainHandling: 1, identifier: null } as const;

/** Ids follow each other; one that is in use is passed over [MQTT-2.2.1-4]. */
function nextID(state: SessionState): number {
  let id = state.lastMessageID;
  do id = (id % 65_535) + 1;
  while (state.outgoing.has(id));
  state.lastMessageID = id;
  return id;
}
