import type { MqttSubscription } from "../../store/journal/message.js";
import { covers } from "../messages/topics.js";
import type { Published, Reached } from "./events.js";
import type { MessageQueues } from "./message-queues.js";
import { routeTo } from "./routing.js";
import {
  type DeviceSessions,
  isExpired,
  type SessionMessage,
  type SessionState,
  type Settled,
} from "./state.js";

/** Messages on their way to the sessions of one device. */
export interface SessionDelivery {
  /** To every session that it reaches; `settled` is called for each copy of QoS 1. */
  send(deviceSessions: DeviceSessions, published: Published, settled?: Settled): Reached;
  /**
   * Hands over the messages retained under a newly subscribed filter, as its options ask: at QoS 1 and 2 into the
   * queue at once, for a queue is a function of the journal; the rest as quickly as the client reads.
   */
  handOver(deviceSessions: DeviceSessions, state: SessionState, wanted: Wanted): void;
}

interface Wanted {
  readonly filter: string;
  readonly subscription: MqttSubscription;
  /** The subscription was there before. */
  readonly known: boolean;
  readonly at: number;
}

export function createDelivery(queues: Pick<MessageQueues, "queue" | "lastRetained">): SessionDelivery {
  function send(deviceSessions: DeviceSessions, published: Published, settled?: Settled): Reached {
    let sent = 0;
    let awaited = 0;
    const { topic, session, properties, at, receipt = null } = published;
    let kept: Uint8Array | null = null;
    for (const state of deviceSessions.sessions.values()) {
      const route = routeTo(state, deviceSessions.deviceID, topic, state.session === session);
      if (route === null) continue;
      const qos = Math.min(published.qos, route.qos) as 0 | 1 | 2;
      const { identifiers } = route;
      const envelope = {
        topic: route.topic,
        retain: published.retain && route.retainAsPublished,
        properties,
      };
      if (qos === 0) {
        const message: SessionMessage = { ...envelope, payload: published.payload, qos, identifiers, at };
        if (state.link?.deliver(message)) sent++;
      } else {
        kept ??= ownBytes(published.payload);
        const message: SessionMessage = { ...envelope, payload: kept, qos, identifiers, at };
        if (queues.queue(state, message, receipt, settled)) awaited++;
      }
    }
    return { sent, awaited };
  }

  function handOver(deviceSessions: DeviceSessions, state: SessionState, wanted: Wanted): void {
    const { subscription, known, at } = wanted;
    const { link } = state;
    if (deviceSessions.retained.size === 0) return;
    if (subscription.retainHandling === 2 || (subscription.retainHandling === 1 && known)) return;
    if (subscription.qos > 0) {
      const messages: SessionMessage[] = [];
      for (const message of retainedFor(deviceSessions, wanted, Number.POSITIVE_INFINITY)) {
        if (message !== null && message.qos > 0 && !isExpired(message, at)) messages.push(message);
      }
      // A start reads them in another order than they came in, and then this record again: their ids must be the same.
      messages.sort((a, b) => (a.topic < b.topic ? -1 : 1));
      for (const message of messages) queues.queue(state, message);
    }
    link?.handOver(atQos0(retainedFor(deviceSessions, wanted, queues.lastRetained)));
  }

  return { send, handOver };
}

/** Retained messages that are looked at before others get their turn. */
const lookedAtOnce = 64;

/**
 * What is retained at the time of asking, except what has come after `last`: the subscription has brought that. Null,
 * each time that some have been looked at, so that others get their turn.
 */
function* retainedFor(
  { retained: all }: DeviceSessions,
  { filter, subscription }: Wanted,
  last: number,
): Generator<SessionMessage | null, undefined> {
  let looked = 0;
  const identifiers = subscription.identifier === null ? [] : [subscription.identifier];
  for (const [topic, { order, ...retained }] of all) {
    if (++looked % lookedAtOnce === 0) yield null;
    if (order > last || !covers(filter, topic)) continue;
    const qos = Math.min(retained.qos, subscription.qos) as 0 | 1 | 2;
    yield { ...retained, topic, qos, retain: true, identifiers };
  }
}

function* atQos0(messages: Iterable<SessionMessage | null>): Generator<SessionMessage | null, undefined> {
  // A message of another QoS has been looked at for nothing as well.
  for (const message of messages) yield message?.qos === 0 ? message : null;
}

/** A payload that came in is part of a larger buffer, and is copied; any other is shared by all that hold it. */
function ownBytes(payload: Uint8Array): Uint8Array {
  return payload.byteLength === payload.buffer.byteLength ? payload : Uint8Array.from(payload);
}
