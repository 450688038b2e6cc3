import { ownMap } from "../messages/shared-empty.js";
import { addCount, type Meter } from "../meter.js";
import { outgoingBytesMax, retainedBytesMax, retainedMessagesMax } from "./bounds.js";
import type { Changes } from "./changes.js";
import type { DirtySet } from "./dirty-set.js";
import type { Published } from "./events.js";
import type { HeldBytes } from "./held-bytes.js";
import type { DeviceSessions, Outgoing, SessionMessage, SessionState, Settled } from "./state.js";
import { weightOfMessage } from "./weights.js";

/** The messages that are held for clients, within the bounds: queues of sessions, and retained ones. */
export interface MessageQueues {
  /** Gives a message of QoS 1 or 2 its packet id and hands it to the connection; false: the queue is full, counted. */
  queue(state: SessionState, message: SessionMessage, receipt?: number | null, settled?: Settled): boolean;
  /** PUBREC has come. */
  received(state: SessionState, messageID: number): void;
  settle(state: SessionState, messageID: number, acknowledged: boolean): void;
  /** The session ends: whatever it holds is given up. */
  giveUp(state: SessionState): void;
  /** An empty payload takes the retained message of its topic away [MQTT-3.3.1-6]. */
  retain(deviceSessions: DeviceSessions, published: Published): void;
  giveUpRetained(deviceSessions: DeviceSessions): void;
  /** The `order` of what was retained last. */
  readonly lastRetained: number;
}

interface MessageQueuesDeps {
  readonly changes: Changes;
  readonly dirtySet: DirtySet;
  readonly meter: Meter;
  readonly held: HeldBytes;
  /** Messages that wait for one client. */
  readonly outgoingMessagesMax: number;
}

export function createMessageQueues(deps: MessageQueuesDeps): MessageQueues {
  const { changes, dirtySet, meter, held, outgoingMessagesMax } = deps;
  /** The order number of the message that was retained last. */
  let order = 0;

  function queue(
    state: SessionState,
    message: SessionMessage,
    receipt: number | null = null,
    settled?: Settled,
  ): boolean {
    if (state.isOver) return false;
    // A message for a full queue gets an id too: a replay under other bounds may take it, and must not shift later ids.
    const messageID = nextID(state);
    dirtySet.session(state);
    const bytes = weightOfMessage(message);
    const full =
      state.outgoing.size >= outgoingMessagesMax ||
      state.outgoingBytes + bytes > outgoingBytesMax ||
      !held.take(state.tenant, bytes);
    if (full) {
      addCount(meter.dropped, "queue_full");
      return false;
    }
    const qos = message.qos === 2 ? 2 : 1;
    const outgoing: Outgoing = { ...message, qos, messageID, sent: false, received: false, receipt, settled };
    const queued = ownMap(state.outgoing);
    queued.set(messageID, outgoing);
    state.outgoing = queued;
    state.outgoingBytes += bytes;
    dirtySet.message(state, messageID);
    state.link?.send(outgoing);
    return true;
  }

  function retain(deviceSessions: DeviceSessions, { topic, payload, qos, properties, at }: Published): void {
    const old = deviceSessions.retained.get(topic);
    const oldBytes = old === undefined ? 0 : weightOfMessage({ topic, ...old });
    const bytes = payload.length === 0 ? 0 : weightOfMessage({ topic, payload, properties });
    const grown = bytes - oldBytes;
    const full =
      (old === undefined && deviceSessions.retained.size >= retainedMessagesMax) ||
      (grown > 0 && deviceSessions.retainedBytes + grown > retainedBytesMax) ||
      (grown > 0 && !held.take(deviceSessions.tenant, grown));
    if (bytes > 0 && full) return addCount(meter.dropped, "retained_full");
    if (bytes === 0 && old === undefined) return;
    if (grown < 0) held.give(deviceSessions.tenant, -grown);
    const retained = ownMap(deviceSessions.retained);
    if (bytes === 0) retained.delete(topic);
    else {
      const own = Uint8Array.from(payload);
      retained.set(topic, { payload: own, qos: qos as 0 | 1 | 2, properties, at, order: ++order });
    }
    deviceSessions.retained = retained;
    deviceSessions.retainedBytes += grown;
    changes.retained(deviceSessions.device, topic);
  }

  return {
    queue,
    received: (state, messageID) => {
      const message = state.outgoing.get(messageID);
      if (message === undefined) return;
      message.received = true;
      dirtySet.message(state, messageID);
    },
    settle: (state, messageID, acknowledged) => {
      const message = state.outgoing.get(messageID);
      if (message === undefined) return;
      const bytes = weightOfMessage(message);
      ownMap(state.outgoing).delete(messageID);
      state.outgoingBytes -= bytes;
      held.give(state.tenant, bytes);
      dirtySet.message(state, messageID);
      message.settled?.(acknowledged);
    },
    giveUp: (state) => {
      held.end(state);
      const outgoing = ownMap(state.outgoing);
      for (const { settled } of outgoing.values()) settled?.(false);
      // Records for it that are still on their way to the disk must not be subtracted a second time.
      outgoing.clear();
      state.outgoingBytes = 0;
    },
    retain,
    giveUpRetained: ({ tenant, device, retained, retainedBytes }) => {
      for (const topic of retained.keys()) changes.retained(device, topic);
      held.give(tenant, retainedBytes);
    },
    get lastRetained() {
      return order;
    },
  };
}

/** Ids ascend; one that is in use is passed over [MQTT-2.2.1-4]. */
function nextID(state: SessionState): number {
  let id = state.lastMessageID;
  do id = (id % 65_535) + 1;
  while (state.outgoing.has(id));
  state.lastMessageID = id;
  return id;
}
