import type { Subscription } from "../message.js";
import { covers } from "../topics.js";
import type { Holdings } from "./holdings.js";
import { routeTo } from "./routing.js";
import { isExpired, type Message, type SessionState, type Settled, type Space } from "./state.js";
import type { Published, Reached } from "./transitions.js";

/** Messages on their way to the sessions of one space. */
export interface Delivery {
  /** To every session that it reaches; `settled` is called for each copy of QoS 1. */
  send(space: Space, published: Published, settled?: Settled): Reached;
  /** What is retained under a filter that has just been subscribed to, as its options ask. */
  handOver(space: Space, state: SessionState, wanted: Wanted): void;
}

export interface Wanted {
  readonly filter: string;
  readonly subscription: Subscription;
  /** The subscription was there before. */
  readonly known: boolean;
  readonly at: number;
}

export function createDelivery(holdings: Pick<Holdings, "queue">): Delivery {
  function send(space: Space, published: Published, settled?: Settled): Reached {
    let sent = 0;
    let awaited = 0;
    const { topic, session, properties, at, receipt = null } = published;
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
        kept ??= ownBytes(published.payload);
        const message: Message = { ...envelope, payload: kept, qos, identifiers, at };
        if (holdings.queue(state, message, receipt, settled)) awaited++;
      }
    }
    return { sent, awaited };
  }

  function handOver({ retained: all }: Space, state: SessionState, wanted: Wanted): void {
    const { filter, subscription, known, at } = wanted;
    if (subscription.retainHandling === 2 || (subscription.retainHandling === 1 && known)) return;
    const identifiers = subscription.identifier === null ? [] : [subscription.identifier];
    for (const [topic, retained] of all) {
      if (!covers(filter, topic) || isExpired(retained, at)) continue;
      const qos = Math.min(retained.qos, subscription.qos) as 0 | 1 | 2;
      const message: Message = { ...retained, topic, qos, retain: true, identifiers };
      if (qos > 0) holdings.queue(state, message);
      else state.link?.deliver(message);
    }
  }

  return { send, handOver };
}

/** What came in belongs to a larger buffer; what does not is shared by all that hold it. */
function ownBytes(payload: Uint8Array): Uint8Array {
  return payload.byteLength === payload.buffer.byteLength ? payload : Uint8Array.from(payload);
}
