import { setTimeout } from "node:timers/promises";
import type { Origin } from "../../accept.js";
import type { Limiter } from "../../limits.js";
import { endsWithConnection, type Subscription } from "../../message.js";
import { count, type EndReason } from "../../meter.js";
import type { PlatformSubscription } from "../../platform-subscriptions.js";
import { mayReceive, maySubscribe } from "../../policies.js";
import { sessionExpiryMax } from "../../sessions/bounds.js";
import type { Goodbye } from "../../sessions/records.js";
import type { SessionState } from "../../sessions/state.js";
import { emptySet, ownSet } from "../../shared-empty.js";
import * as answers from "./answers.js";
import type { MqttContext } from "./context.js";
import { createDeliveries, type Deliveries } from "./deliveries.js";
import { Inbound, type InboundOwner } from "./inbound.js";
import type { Outbox } from "./outbox.js";
import type {
  AckPacket,
  ClientPacket,
  ConnectRequest,
  DisconnectPacket,
  PublishPacket,
  SubscribePacket,
  UnsubscribePacket,
} from "./packets.js";
import { createPublishEncoder } from "./publish-packet.js";
import { protocolError } from "./reader.js";
import { code, failure } from "./reasons.js";
import { judge, refusal, unsubscribeCodes } from "./subscribing.js";

/** The connection that a conversation goes over. */
export interface ConversationOwner extends Omit<InboundOwner, "state"> {
  readonly origin: Origin;
  end(reason: EndReason, detail?: string): void;
  /** The client has said DISCONNECT. */
  leave(): void;
}

const noGoodbye: Omit<Goodbye, "reason"> = { orderly: false, sessionExpiry: null };
const pingresp = Buffer.from([0xd0, 0]);

/** What follows CONNACK: each packet of the client, and what its session has for it. */
export class Conversation {
  readonly #context: MqttContext;
  readonly #owner: ConversationOwner;
  readonly #outbox: Outbox;
  readonly #request: ConnectRequest;
  readonly #state: SessionState;
  readonly #inbound: Inbound;
  readonly #deliveries: Deliveries;
  /** Null: nothing is limited. */
  readonly #limiter: Limiter | null;
  /** The message that has waited for its limit. */
  #charged: ClientPacket | null = null;
  /** Filters on their way to the disk. */
  #granting: ReadonlySet<string> = emptySet;
  /** What DISCONNECT said; until then nothing. */
  #goodbye: Omit<Goodbye, "reason"> = noGoodbye;

  constructor(
    context: MqttContext,
    owner: ConversationOwner,
    outbox: Outbox,
    request: ConnectRequest,
    state: SessionState,
  ) {
    const { meter, now, records } = context;
    this.#context = context;
    this.#owner = owner;
    this.#outbox = outbox;
    this.#request = request;
    this.#state = state;
    this.#inbound = new Inbound(context, outbox, owner, state);
    this.#deliveries = createDeliveries(state, {
      ...{ outbox, meter, now, encoder: createPublishEncoder(request) },
      records: {
        delivered: (messageID, acknowledged) =>
          records.delivered(owner.origin, state, messageID, acknowledged),
        received: (messageID, done) => records.received(owner.origin, state, messageID, done),
      },
      mayReceive: (topic) => mayReceive(owner.origin.device, topic),
      isClosed: () => owner.isClosed,
      markDirty: () => owner.markDirty(),
      onFault: context.onFault,
    });
    state.link = this.#deliveries;
    this.#limiter = context.limits?.limiter(owner.origin.device) ?? null;
  }

  get state(): SessionState {
    return this.#state;
  }

  get goodbye(): Omit<Goodbye, "reason"> {
    return this.#goodbye;
  }

  /** Sends what the session still holds; CONNACK has gone before. */
  resume(): void {
    this.#deliveries.resume();
  }

  /** Brings the session up to what the platform subscribes it to. */
  subscribeByPlatform(wanted: readonly PlatformSubscription[]): void {
    this.#context.records.subscribeByPlatform(this.#owner.origin, this.#state, wanted);
  }

  /** The connection has ended. */
  close(): void {
    if (this.#state.link === this.#deliveries) this.#state.link = null;
  }

  isFull(share: number): boolean {
    return this.#inbound.isFull(share);
  }

  handle(packet: ClientPacket): void {
    switch (packet.cmd) {
      case "publish":
        if (this.#limiter !== null && !this.#isWithin(this.#limiter, packet)) return;
        return this.#inbound.publish(packet);
      case "puback":
      case "pubcomp":
        return this.#deliveries.acknowledged(packet.messageID, packet.code);
      case "pubrec":
        return this.#received(packet);
      case "pubrel":
        return this.#inbound.release(packet.messageID);
      case "subscribe":
        return this.#subscribe(packet);
      case "unsubscribe":
        return this.#unsubscribe(packet);
      case "pingreq":
        return this.#outbox.push(pingresp);
      case "disconnect":
        return this.#disconnect(packet);
    }
  }

  /** Slows down what is over its limit, and ends the connection where that is not enough. */
  #isWithin(limiter: Limiter, packet: PublishPacket): boolean {
    if (this.#charged === packet) return true;
    const waitMs = limiter.take(packet.topic.length + packet.payload.length);
    if (waitMs === 0) return true;
    if (waitMs === null) this.#owner.end("rate");
    else {
      this.#charged = packet;
      this.#context.meter.slowedDown++;
      this.#owner.holdBack(() => setTimeout(waitMs, undefined, { ref: false }), packet);
    }
    return false;
  }

  /** An answer that the client cannot take ends the connection. */
  #answer(bytes: Buffer | null): void {
    if (bytes === null) this.#owner.end("oversize", "the answer is larger than the client allows");
    else this.#outbox.push(bytes);
  }

  #received({ messageID, code: reasonCode }: AckPacket): void {
    if (this.#deliveries.received(messageID, reasonCode)) return;
    if (this.#request.version < 5 || reasonCode >= failure) return;
    const text = "no message with this packet id is in flight";
    this.#answer(answers.negativeAck(this.#request, "pubrel", messageID, code.packetIDNotFound, text));
  }

  /** SUBACK once the subscriptions are on disk, before what they bring. */
  #subscribe(packet: SubscribePacket): void {
    const { device } = this.#owner.origin;
    const refuses = (filter: string): boolean => {
      if (maySubscribe(device, filter)) return false;
      count(this.#context.meter.policyRefused, "subscribe");
      return true;
    };
    const { tenant, ownBytes } = this.#state;
    const hasRoom = (bytes: number) => this.#context.spaces.held.mayGrow(tenant, ownBytes, bytes);
    const { codes, granted } = judge(this.#state, packet, refuses, this.#granting, hasRoom);
    const granting = ownSet(this.#granting);
    for (const [filter] of granted) granting.add(filter);
    this.#granting = granting;
    this.#context.records.subscribe(this.#owner.origin, this.#state, granted, () => {
      for (const [filter] of granted) granting.delete(filter);
      if (this.#owner.isClosed) return;
      this.#answer(answers.suback(this.#request, packet.messageID, codes, refusal(codes)));
      for (const [filter, subscription] of granted) if (filter === "$time") this.#tellTime(subscription);
      this.#owner.markDirty();
    });
  }

  #tellTime({ identifier }: Subscription): void {
    const now = this.#context.now();
    this.#deliveries.deliver({
      ...{ topic: "$time", payload: clock(now), qos: 0, retain: false, properties: null },
      ...{ identifiers: identifier === null ? [] : [identifier], at: now * 1000 },
    });
  }

  #unsubscribe({ messageID, filters }: UnsubscribePacket): void {
    const { origin } = this.#owner;
    const codes = unsubscribeCodes(this.#state, origin.device.device.deviceID, filters, this.#granting);
    this.#context.records.unsubscribe(origin, this.#state, filters, () => {
      if (this.#owner.isClosed) return;
      this.#answer(answers.unsuback(this.#request, messageID, codes));
      this.#owner.markDirty();
    });
  }

  #disconnect({ code: reasonCode, sessionExpiry }: DisconnectPacket): void {
    if (sessionExpiry !== null && sessionExpiry > 0 && this.#state.expiry === endsWithConnection) {
      throw protocolError("a session that ends with its connection cannot be kept after all");
    }
    const expiry = sessionExpiry === null ? null : Math.min(sessionExpiry, sessionExpiryMax);
    this.#goodbye = { orderly: reasonCode === code.success, sessionExpiry: expiry };
    this.#owner.leave();
  }
}

/** The clock as topic `$time` serves it: milliseconds since 1970. */
function clock(now: number): Buffer {
  return Buffer.from(JSON.stringify({ time: now }));
}
