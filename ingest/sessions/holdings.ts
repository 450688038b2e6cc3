import { count, type Meter } from "../meter.js";
import { ownMap } from "../shared-empty.js";
import {
  heldBytesMax,
  outgoingBytesMax,
  outgoingMessagesMax,
  retainedBytesMax,
  retainedMessagesMax,
} from "./bounds.js";
import type { Changes } from "./changes.js";
import type { Marking } from "./marking.js";
import {
  bytesOf,
  type Message,
  type Outgoing,
  type SessionState,
  type Settled,
  type Space,
} from "./state.js";
import type { Published } from "./transitions.js";

/** The messages that are held for clients, within the bounds: queues of sessions, and retained ones. */
export interface Holdings {
  /** What a loaded space holds counts from now on. */
  takeUp(space: Space): void;
  /** Gives a message of QoS 1 or 2 its packet id and hands it to the connection; false: no room, counted. */
  queue(state: SessionState, message: Message, receipt?: number | null, settled?: Settled): boolean;
  /** PUBREC has come. */
  received(state: SessionState, messageID: number): void;
  settle(state: SessionState, messageID: number, acknowledged: boolean): void;
  /** A session ends: whatever it holds is given up. */
  giveUp(state: SessionState): void;
  /** An empty payload takes the retained message of its topic away [MQTT-3.3.1-6]. */
  retain(space: Space, published: Published): void;
  giveUpRetained(space: Space): void;
  /** The `order` of what was retained last. */
  readonly lastRetained: number;
}

export function createHoldings(changes: Changes, marking: Marking, meter: Meter): Holdings {
  let heldBytes = 0;
  /** Of what was retained last. */
  let order = 0;

  function queue(
    state: SessionState,
    message: Message,
    receipt: number | null = null,
    settled?: Settled,
  ): boolean {
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
    const outgoing: Outgoing = { ...message, qos, messageID, sent: false, received: false, receipt, settled };
    const queued = ownMap(state.outgoing);
    queued.set(messageID, outgoing);
    state.outgoing = queued;
    state.outgoingBytes += bytes;
    heldBytes += bytes;
    marking.message(state, messageID);
    // Its last packet id has changed.
    marking.session(state);
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
    else {
      const own = Uint8Array.from(payload);
      retained.set(topic, { payload: own, qos: qos as 0 | 1 | 2, properties, at, order: ++order });
    }
    space.retained = retained;
    space.retainedBytes += grown;
    heldBytes += grown;
    changes.retained(space.device, topic);
  }

  return {
    takeUp: ({ retainedBytes, sessions }) => {
      heldBytes += retainedBytes;
      for (const { outgoingBytes } of sessions.values()) heldBytes += outgoingBytes;
    },
    queue,
    received: (state, messageID) => {
      const message = state.outgoing.get(messageID);
      if (message === undefined) return;
      message.received = true;
      marking.message(state, messageID);
    },
    settle: (state, messageID, acknowledged) => {
      const message = state.outgoing.get(messageID);
      if (message === undefined) return;
      const bytes = bytesOf(message);
      ownMap(state.outgoing).delete(messageID);
      state.outgoingBytes -= bytes;
      heldBytes -= bytes;
      marking.message(state, messageID);
      message.settled?.(acknowledged);
    },
    giveUp: (state) => {
      heldBytes -= state.outgoingBytes;
      const outgoing = ownMap(state.outgoing);
      for (const { settled } of outgoing.values()) settled?.(false);
      // What is still on its way to the disk for it must not be taken off a second time.
      outgoing.clear();
      state.outgoingBytes = 0;
    },
    retain,
    giveUpRetained: ({ device, retained, retainedBytes }) => {
      for (const topic of retained.keys()) changes.retained(device, topic);
      heldBytes -= retainedBytes;
    },
    get lastRetained() {
      return order;
    },
  };
}

/** Ids follow each other; one that is in use is passed over [MQTT-2.2.1-4]. */
function nextID(state: SessionState): number {
  let id = state.lastMessageID;
  do id = (id % 65_535) + 1;
  while (state.outgoing.has(id));
  state.lastMessageID = id;
  return id;
}
