/** How the sessions of devices begin, go on and end. */
import { endsWithConnection, type Will } from "../../store/journal/message.js";
import { createSlice } from "../../store/lib/turns.js";
import { count, type Meter } from "../meter.js";
import { sessionsPerDeviceMax } from "./bounds.js";
import type { Changes } from "./changes.js";
import type { DirtySet } from "./dirty-set.js";
import type { Connected, Disconnected } from "./events.js";
import type { HeldBytes } from "./held-bytes.js";
import type { MessageQueues } from "./message-queues.js";
import type { PendingWills } from "./pending-wills.js";
import {
  createSessionState,
  createSpace,
  expiresAt,
  isExpired,
  type SessionState,
  type Space,
} from "./state.js";
import { weightOfWill } from "./weights.js";

export interface SessionLifecycle {
  /** `present`: the client goes on with what it left. */
  connect(connected: Connected): { readonly state: SessionState; readonly present: boolean };
  disconnect(disconnected: Disconnected): void;
  willPublished(device: number, connection: number): void;
  /** Sessions and retained messages whose time is over are dropped. */
  expire(nowMicros: number): Promise<void>;
  /** The device is gone. */
  forget(device: number): void;
}

interface LifecycleDeps {
  readonly changes: Changes;
  readonly dirtySet: DirtySet;
  readonly meter: Meter;
  readonly held: HeldBytes;
  readonly queues: MessageQueues;
  readonly wills: PendingWills;
}

export function createSessionLifecycle(spaces: Map<number, Space>, deps: LifecycleDeps): SessionLifecycle {
  const { changes, dirtySet, meter, held, queues, wills } = deps;

  function open({ tenant, device, deviceID }: Connected): Space {
    let space = spaces.get(device);
    if (space === undefined) {
      space = createSpace(tenant, device, deviceID);
      spaces.set(device, space);
    }
    space.deviceID = deviceID;
    return space;
  }

  function forgetIfEmpty({ device, sessions, retained, wills: left }: Space): void {
    if (sessions.size === 0 && retained.size === 0 && left.length === 0) spaces.delete(device);
  }

  function drop(space: Space, state: SessionState): void {
    space.sessions.delete(state.clientID);
    changes.session(state);
    queues.giveUp(state);
  }

  function dropExpired(space: Space, at: number): void {
    for (const state of space.sessions.values()) if (expiresAt(state) <= at) drop(space, state);
  }

  function makeRoom(space: Space, at: number): void {
    if (space.sessions.size < sessionsPerDeviceMax) return;
    // By the record's time: whether they were swept away before must make no difference.
    dropExpired(space, at);
    if (space.sessions.size < sessionsPerDeviceMax) return;
    const longest = longestAway(space);
    if (longest === undefined) return;
    count(meter.dropped, "session_room");
    drop(space, longest);
  }

  function setWill(state: SessionState, will: Will | null): void {
    held.grow(state, weightOfWill(will) - weightOfWill(state.will));
    state.will = will;
  }

  /** What has been handed to a connection may have been seen by the client: it is sent again with DUP. */
  function markSent(state: SessionState, ofEarlierRun: boolean): void {
    for (const [id, message] of state.outgoing) {
      message.sent ||= ofEarlierRun;
      if (message.sent) dirtySet.message(state, id);
    }
  }

  return {
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
      markSent(state, ofEarlierRun);
      forgetIfEmpty(space);
    },
    willPublished: (device, connection) => {
      const space = spaces.get(device);
      if (space === undefined) return;
      wills.published(space, connection);
      forgetIfEmpty(space);
    },
    expire: async (nowMicros) => {
      const slice = createSlice();
      for (const space of spaces.values()) {
        if (slice.isOver()) await slice.next();
        dropExpired(space, nowMicros);
        for (const [topic, retained] of space.retained) {
          if (!isExpired(retained, nowMicros)) continue;
          const nothing = { device: space.device, session: -1, topic, retain: true, payload: none };
          queues.retain(space, { ...retained, ...nothing });
        }
        forgetIfEmpty(space);
      }
    },
    forget: (device) => {
      const space = spaces.get(device);
      if (space === undefined) return;
      for (const state of [...space.sessions.values()]) drop(space, state);
      wills.giveUp(space);
      queues.giveUpRetained(space);
      spaces.delete(device);
    },
  };
}

/** The session whose client has been away longest. */
function longestAway(space: Space): SessionState | undefined {
  const away = [...space.sessions.values()].filter(({ connection }) => connection === 0);
  return away.reduce<SessionState | undefined>(
    (found, one) => (found === undefined || one.endedAt < found.endedAt ? one : found),
    undefined,
  );
}

const none = new Uint8Array(0);
