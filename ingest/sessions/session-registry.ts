/** The sessions of all devices, and the one way in which each kind of record changes them. */
import { ownSet } from "../messages/shared-empty.js";
import type { Meter } from "../meter.js";
import { sessionBounds } from "./bounds.js";
import type { Changes } from "./changes.js";
import { createDelivery } from "./delivery.js";
import { createDirtySet } from "./dirty-set.js";
import type { Published, Reached } from "./events.js";
import { createHeldBytes, type HeldBytes } from "./held-bytes.js";
import { createSessionLifecycle, type SessionLifecycle } from "./lifecycle.js";
import { createMessageQueues } from "./message-queues.js";
import { createPendingWills } from "./pending-wills.js";
import type { DueWill, SessionState, Settled, Space } from "./state.js";
import { createSubscribing, type Subscribing } from "./subscribing.js";
import { unreleasedBytes } from "./weights.js";

/** Every function here is deterministic in state and arguments, but for what time has run out. */
export interface SessionRegistry extends SessionLifecycle, Subscribing {
  get(device: number): Space | undefined;
  all(): Iterable<Space>;
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
  /** What all of it takes. */
  readonly held: Pick<HeldBytes, "hasRoom" | "mayGrow" | "of" | "total">;
}

export function createSessionRegistry(
  changes: Changes,
  meter: Meter,
  loaded: Iterable<Space> = [],
  { heldBytesMax, outgoingMessagesMax } = sessionBounds,
): SessionRegistry {
  const spaces = new Map<number, Space>();
  const dirtySet = createDirtySet(changes, spaces);
  const held = createHeldBytes(heldBytesMax);
  const queues = createMessageQueues({ changes, dirtySet, meter, held, outgoingMessagesMax });
  const wills = createPendingWills(changes, spaces, held);
  const delivery = createDelivery(queues);
  for (const space of loaded) {
    spaces.set(space.device, space);
    wills.takeUp(space);
    held.takeUp(space);
  }

  return {
    ...createSessionLifecycle(spaces, { changes, dirtySet, meter, held, queues, wills }),
    ...createSubscribing(spaces, dirtySet, held, delivery),
    get: (device) => spaces.get(device),
    all: () => spaces.values(),
    find: (device, session) => {
      for (const state of spaces.get(device)?.sessions.values() ?? []) {
        if (state.session === session) return state;
      }
      return undefined;
    },
    publish: (published) => {
      const space = spaces.get(published.device);
      if (space === undefined) return;
      if (published.retain) queues.retain(space, published);
      delivery.send(space, published);
    },
    send: (published, settled) => {
      const space = spaces.get(published.device);
      return space === undefined ? { sent: 0, awaited: 0 } : delivery.send(space, published, settled);
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
    held,
  };
}
