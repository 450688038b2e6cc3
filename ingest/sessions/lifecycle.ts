/** How connections begin, resume and end the sessions of devices. */
import { endsWithConnection, type Will } from "../../store/journal/message.js";
import type { Meter } from "../meter.js";
import type { Changes } from "./changes.js";
import type { DirtySet } from "./dirty-set.js";
import type { Connected, Disconnected, InboxOpened, SessionEnded } from "./events.js";
import { createSessionEviction } from "./eviction.js";
import type { HeldBytes } from "./held-bytes.js";
import type { MessageQueues } from "./message-queues.js";
import type { PendingWills } from "./pending-wills.js";
import {
  createDeviceSessions,
  createSessionState,
  type DeviceSessions,
  expiresAt,
  type SessionState,
} from "./state.js";
import { weightOfWill } from "./weights.js";

export interface SessionLifecycle {
  /** `present`: the client goes on with what it left. */
  connect(connected: Connected): { readonly state: SessionState; readonly present: boolean };
  /** Nothing happens where the session is there already. */
  openInbox(opened: InboxOpened): void;
  disconnect(disconnected: Disconnected): void;
  /** The session goes, with what waits in it; a will that it has left is due. Nothing happens where there is none. */
  endSession(ended: SessionEnded): void;
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

export function createSessionLifecycle(
  registry: Map<number, DeviceSessions>,
  deps: LifecycleDeps,
): SessionLifecycle {
  const { changes, dirtySet, held, wills } = deps;
  const eviction = createSessionEviction(registry, deps);
  const { drop, makeRoom, forgetIfEmpty } = eviction;

  function open({ tenant, device, deviceID }: Connected | InboxOpened): DeviceSessions {
    let deviceSessions = registry.get(device);
    if (deviceSessions === undefined) {
      deviceSessions = createDeviceSessions(tenant, device, deviceID);
      registry.set(device, deviceSessions);
    }
    deviceSessions.deviceID = deviceID;
    return deviceSessions;
  }

  function setWill(state: SessionState, will: Will | null): void {
    held.grow(state, weightOfWill(will) - weightOfWill(state.will));
    state.will = will;
  }

  /** Marks messages that a client may have seen, because a connection took them: they are sent again with DUP. */
  function markSent(state: SessionState, ofEarlierRun: boolean): void {
    for (const [id, message] of state.outgoing) {
      message.sent ||= ofEarlierRun;
      if (message.sent) dirtySet.message(state, id);
    }
  }

  return {
    connect: (connected) => {
      const { device, clientID, session, at } = connected;
      const deviceSessions = open(connected);
      const prior = deviceSessions.sessions.get(clientID);
      const present = prior !== undefined && !connected.cleanStart && expiresAt(prior) > at;
      if (prior !== undefined && !present) drop(deviceSessions, prior);
      wills.settle(deviceSessions, connected, present);
      let state = prior;
      if (state === undefined || !present) {
        makeRoom(deviceSessions, at);
        state = createSessionState(deviceSessions.tenant, device, clientID, session);
        deviceSessions.sessions.set(clientID, state);
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
    openInbox: (opened) => {
      const { device, clientID, session, at, expiry } = opened;
      const deviceSessions = open(opened);
      const prior = deviceSessions.sessions.get(clientID);
      if (prior !== undefined && expiresAt(prior) > at) return;
      if (prior !== undefined) drop(deviceSessions, prior);
      makeRoom(deviceSessions, at);
      const state = createSessionState(deviceSessions.tenant, device, clientID, session);
      deviceSessions.sessions.set(clientID, state);
      state.endedAt = at;
      state.expiry = expiry;
      changes.session(state);
    },
    disconnect: ({ device, connection, at, orderly, expiry, ofEarlierRun }) => {
      const deviceSessions = registry.get(device);
      const state = [...(deviceSessions?.sessions.values() ?? [])].find(
        (one) => one.connection === connection,
      );
      if (deviceSessions === undefined || state === undefined) return;
      const { will } = state;
      state.connection = 0;
      state.endedAt = at;
      // One that ends with its connection cannot be prolonged by its goodbye [MQTT-3.14.2-2].
      if (state.expiry !== endsWithConnection) state.expiry = expiry ?? state.expiry;
      setWill(state, null);
      state.link = null;
      if (will !== null && !orderly) wills.leave(deviceSessions, state, { connection, at, will });
      changes.session(state);
      if (state.expiry === endsWithConnection) drop(deviceSessions, state);
      markSent(state, ofEarlierRun);
      forgetIfEmpty(deviceSessions);
    },
    endSession: ({ device, clientID, session, at }) => {
      const deviceSessions = registry.get(device);
      const state = deviceSessions?.sessions.get(clientID);
      if (deviceSessions === undefined || state === undefined) return;
      drop(deviceSessions, state);
      wills.settle(deviceSessions, { session, at }, false);
      forgetIfEmpty(deviceSessions);
    },
    willPublished: (device, connection) => {
      const deviceSessions = registry.get(device);
      if (deviceSessions === undefined) return;
      wills.published(deviceSessions, connection);
      forgetIfEmpty(deviceSessions);
    },
    expire: eviction.expire,
    forget: eviction.forget,
  };
}
