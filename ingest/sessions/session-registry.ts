/** The sessions of all devices, and the one way in which each kind of record changes them. */
import { createSlice } from "../../store/lib/scheduling.js";
import { ownSet } from "../messages/shared-empty.js";
import type { Meter } from "../meter.js";
import { type SessionBounds, sessionBounds } from "./bounds.js";
import type { Changes } from "./changes.js";
import { createDelivery } from "./delivery.js";
import { createDirtySet } from "./dirty-set.js";
import type { Published, Reached } from "./events.js";
import { createHeldBytes, type HeldBytes } from "./held-bytes.js";
import { createSessionLifecycle, type SessionLifecycle } from "./lifecycle.js";
import { createMessageQueues } from "./message-queues.js";
import { createPendingWills } from "./pending-wills.js";
import type { DeviceSessions, DueWill, SessionState, Settled } from "./state.js";
import { createSubscribing, type Subscribing } from "./subscribing.js";
import { unreleasedBytes } from "./weights.js";

/** Every function here is deterministic in state and arguments, except for what has expired. */
export interface SessionRegistry extends SessionLifecycle, Subscribing {
  get(device: number): DeviceSessions | undefined;
  all(): Iterable<DeviceSessions>;
  /** The session of a record. */
  find(device: number, session: number): SessionState | undefined;
  publish(published: Published): void;
  /** To every session that it reaches; `settled` is called for each copy of QoS 1. */
  send(published: Published, settled?: Settled): Reached;
  /** A QoS 2 message has come up, or been released. */
  took(state: SessionState, messageID: number): void;
  released(state: SessionState, messageID: number): void;
  received(state: SessionState, messageID: number): void;
  delivered(state: SessionState, messageID: number, acknowledged?: boolean): void;
  /** Wills that are due, each once. */
  dueWills(nowMicros: number): DueWill[];
  /** Gives back the bytes of all of it, which goes on in another process. */
  letGo(): Promise<void>;
  /** The bytes that all of it takes. */
  readonly held: Pick<HeldBytes, "hasRoom" | "mayGrow" | "of" | "total">;
}

export function createSessionRegistry(
  changes: Changes,
  meter: Meter,
  loaded: Iterable<DeviceSessions> = [],
  { outgoingMessagesMax, heldBytesMax, held = createHeldBytes(heldBytesMax) }: SessionBounds = sessionBounds,
): SessionRegistry {
  const registry = new Map<number, DeviceSessions>();
  const dirtySet = createDirtySet(changes, registry);
  const queues = createMessageQueues({ changes, dirtySet, meter, held, outgoingMessagesMax });
  const wills = createPendingWills(changes, registry, held);
  const delivery = createDelivery(queues);
  for (const deviceSessions of loaded) {
    registry.set(deviceSessions.device, deviceSessions);
    wills.takeUp(deviceSessions);
    held.takeUp(deviceSessions);
  }

  return {
    ...createSessionLifecycle(registry, { changes, dirtySet, meter, held, queues, wills }),
    ...createSubscribing(registry, dirtySet, held, delivery),
    get: (device) => registry.get(device),
    all: () => registry.values(),
    find: (device, session) => {
      for (const state of registry.get(device)?.sessions.values() ?? []) {
        if (state.session === session) return state;
      }
      return undefined;
    },
    publish: (published) => {
      const deviceSessions = registry.get(published.device);
      if (deviceSessions === undefined) return;
      if (published.retain) queues.retain(deviceSessions, published);
      delivery.send(deviceSessions, published);
    },
    send: (published, settled) => {
      const deviceSessions = registry.get(published.device);
      return deviceSessions === undefined
        ? { sent: 0, awaited: 0 }
        : delivery.send(deviceSessions, published, settled);
    },
    took: (state, messageID) => {
      const unreleased = ownSet(state.unreleased);
      if (!unreleased.has(messageID)) held.grow(state, unreleasedBytes);
      state.unreleased = unreleased.add(messageID);
      dirtySet.session(state);
    },
    released: (state, messageID) => {
      if (ownSet(state.unreleased).delete(messageID)) held.grow(state, -unreleasedBytes);
      dirtySet.session(state);
    },
    received: queues.received,
    delivered: (state, messageID, acknowledged = true) => queues.settle(state, messageID, acknowledged),
    dueWills: wills.due,
    letGo: async () => {
      const slice = createSlice();
      for (const deviceSessions of registry.values()) {
        if (slice.isOver()) await slice.next();
        held.letGo(deviceSessions);
      }
      registry.clear();
    },
    held,
  };
}
