import { endsWithConnection, type MqttSubscription } from "../../../../store/journal/message.js";
import { nextTurn } from "../../../../store/lib/scheduling.js";
import type { AdmittedClient } from "../../../clients/admitted-client.js";
import { emptySet, ownSet } from "../../../messages/shared-empty.js";
import { addCount, type EndReason } from "../../../meter.js";
import { maySubscribe } from "../../../policies.js";
import { sessionExpiryMax } from "../../../sessions/bounds.js";
import type { Goodbye } from "../../../sessions/connection-records.js";
import type { SessionState } from "../../../sessions/state.js";
import type { Filters } from "../../../sessions/subscription-records.js";
import { lightWorkMax, workMax } from "../../../uplinks/work-budget.js";
import * as answers from "../codec/acknowledgements.js";
import type {
  AckPacket,
  ClientPacket,
  ConnectRequest,
  DisconnectPacket,
  PublishPacket,
  SubscribePacket,
  UnsubscribePacket,
} from "../codec/packets.js";
import { createPublishEncoder } from "../codec/publish-packet.js";
import { protocolError } from "../codec/reader.js";
import { failureCode, mqttReasonCode } from "../codec/reasons.js";
import type { MqttContext } from "./context.js";
import { createMqttDeliveries, type Deliveries } from "./deliveries.js";
import { Inbound, type InboundOwner } from "./inbound.js";
import { judge, refusal, unsubscribeCodes } from "./subscribing.js";
import type { WriteBuffer } from "./write-buffer.js";

/** The connection of a client. */
export interface MqttClientOwner extends InboundOwner {
  /** Retained messages wait: nothing is read until they are handed over. */
  handOver(): void;
  end(reason: EndReason, detail?: string): void;
  /** The client has said DISCONNECT. */
  leave(): void;
}

/** The goodbye of a client that has gone without a DISCONNECT. */
export const noGoodbye: Omit<Goodbye, "reason"> = { orderly: false, sessionExpiry: null };
const pingresp = Buffer.from([0xd0, 0]);

/** Everything after CONNACK: each packet of the client, and what its session has for it. */
export class MqttClient {
  readonly #context: MqttContext;
  readonly #owner: MqttClientOwner;
  readonly #writeBuffer: WriteBuffer;
  readonly #request: ConnectRequest;
  readonly #state: SessionState;
  readonly #inbound: Inbound;
  readonly #deliveries: Deliveries;
  readonly #admitted: AdmittedClient;
  /** Filters on their way to the disk. */
  #granting: ReadonlySet<string> = emptySet;
  /** What DISCONNECT said; `noGoodbye` before it. */
  #goodbye: Omit<Goodbye, "reason"> = noGoodbye;

  constructor(
    context: MqttContext,
    admitted: AdmittedClient,
    owner: MqttClientOwner,
    writeBuffer: WriteBuffer,
    request: ConnectRequest,
    state: SessionState,
  ) {
    const { meter, now, records } = context;
    this.#context = context;
    this.#admitted = admitted;
    this.#owner = owner;
    this.#writeBuffer = writeBuffer;
    this.#request = request;
    this.#state = state;
    this.#inbound = new Inbound(context, writeBuffer, owner, state);
    this.#deliveries = createMqttDeliveries(state, {
      writeBuffer,
      meter,
      now,
      encoder: createPublishEncoder(request),
      records: {
        delivered: (messageID, acknowledged) =>
          records.delivered(owner.origin, state, messageID, acknowledged),
        received: (messageID, done) => records.received(owner.origin, state, messageID, done),
      },
      isDue: (message) => admitted.isDue(message),
      isClosed: () => owner.isClosed,
      markDirty: () => owner.markDirty(),
      onFault: context.onFault,
      onHandOver: () => owner.handOver(),
    });
    state.link = this.#deliveries;
  }

  get goodbye(): Omit<Goodbye, "reason"> {
    return this.#goodbye;
  }

  /** Sends what the session still holds; CONNACK has gone before. */
  resume(): void {
    this.#deliveries.resume();
  }

  /** The connection has ended. */
  close(): void {
    if (this.#state.link === this.#deliveries) this.#state.link = null;
    this.#inbound.giveWork();
  }

  isFull(share: number): boolean {
    return this.#inbound.isFull(share);
  }

  /** All that the client had sent by the last acknowledgement has been read. */
  caughtUp(): void {
    this.#inbound.caughtUp();
  }

  /** Retained messages on their way to a client that has yet to read them. */
  get handingOver(): Pick<Deliveries, "isHandingOver" | "isPaced" | "handOverSome" | "giveUpHandingOver"> {
    return this.#deliveries;
  }

  handle(packet: ClientPacket): void {
    switch (packet.cmd) {
      case "publish":
        return this.#publish(packet);
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
        return this.#writeBuffer.push(pingresp);
      case "disconnect":
        return this.#disconnect(packet);
    }
  }

  /** Slows down a client over its limit, and ends the connection if that is not enough. */
  #publish(packet: PublishPacket): void {
    if (this.#inbound.isSentAgain(packet)) return;
    const { limiter } = this.#admitted;
    const waitMs = limiter === null ? 0 : limiter.take(packet.topic.length + packet.payload.length);
    if (waitMs === null) this.#owner.end("rate");
    else if (waitMs === 0) this.#inbound.publish(packet);
    else {
      this.#owner.suspend(
        () => this.#admitted.waitForLimit(waitMs),
        () => this.#inbound.publish(packet),
      );
    }
  }

  /** An answer that the client cannot take ends the connection. */
  #answer(bytes: Buffer | null): void {
    if (bytes === null) this.#owner.end("oversize", "the answer is larger than the client allows");
    else this.#writeBuffer.push(bytes);
  }

  #received({ messageID, code: reasonCode }: AckPacket): void {
    if (this.#deliveries.received(messageID, reasonCode)) return;
    if (this.#request.version < 5 || reasonCode >= failureCode) return;
    const text = "no message with this packet id is in flight";
    this.#answer(
      answers.negativeAck(this.#request, "pubrel", messageID, mqttReasonCode.packetIDNotFound, text),
    );
  }

  /** SUBACK once the subscriptions are on disk, before the messages that they bring. */
  #subscribe(packet: SubscribePacket): void {
    const { device } = this.#owner.origin;
    const refuses = (filter: string): boolean => {
      if (maySubscribe(device, filter)) return false;
      addCount(this.#context.meter.policyRefused, "subscribe");
      return true;
    };
    const { tenant, ownBytes } = this.#state;
    const { registry, topics } = this.#context;
    const hasRoom = (bytes: number) => registry.held.mayGrow(tenant, ownBytes, bytes);
    const { codes, granted } = judge(this.#state, packet, { refuses, hasRoom, topics }, this.#granting);
    const granting = ownSet(this.#granting);
    for (const [filter] of granted) granting.add(filter);
    this.#granting = granting;
    this.#keep(granted, () => {
      for (const [filter] of granted) granting.delete(filter);
      if (this.#owner.isClosed) return;
      this.#answer(answers.suback(this.#request, packet.messageID, codes, refusal(codes)));
      for (const [filter, subscription] of granted) if (filter === "$time") this.#tellTime(subscription);
      this.#owner.markDirty();
    });
  }

  /** Filters that cause much work are recorded in parts, and whatever follows on the connection waits for them. */
  #keep(granted: Filters, done: () => void): void {
    const { registry, records } = this.#context;
    const { origin } = this.#owner;
    const queued = granted.filter(([, { qos, retainHandling }]) => qos > 0 && retainHandling < 2).length;
    if (registry.subscribeCost(origin.device.id, queued) <= lightWorkMax) {
      return records.subscribe(origin, this.#state, granted, done);
    }
    this.#owner.suspend(() => this.#keepInPortions(granted, done));
  }

  async #keepInPortions(granted: Filters, done: () => void): Promise<void> {
    const { registry, records, work } = this.#context;
    const { origin } = this.#owner;
    for (let at = 0; at < granted.length && !this.#owner.isClosed; ) {
      const each = Math.max(1, registry.subscribeCost(origin.device.id, 1));
      const portion = granted.slice(at, at + Math.max(1, Math.floor(workMax / 4 / each)));
      const cost = each * portion.length;
      await work.room(this.#state.tenant, cost);
      at += portion.length;
      const told = at === granted.length ? done : () => undefined;
      try {
        await new Promise<void>((resolve) => {
          records.subscribe(origin, this.#state, portion, () => {
            told();
            resolve();
          });
        });
        // A session that ends with its connection waits for no commit.
        await nextTurn();
      } finally {
        work.give(this.#state.tenant, cost);
      }
    }
  }

  #tellTime({ identifier }: MqttSubscription): void {
    const now = this.#context.now();
    this.#deliveries.deliver({
      topic: "$time",
      payload: clock(now),
      qos: 0,
      retain: false,
      properties: null,
      identifiers: identifier === null ? [] : [identifier],
      at: now * 1000,
    });
  }

  #unsubscribe({ messageID, filters }: UnsubscribePacket): void {
    const { origin } = this.#owner;
    const codes = unsubscribeCodes(this.#state, origin.device.device.deviceID, filters, this.#granting);
    this.#context.records.unsubscribe(origin, this.#state, [...new Set(filters)], () => {
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
    this.#goodbye = { orderly: reasonCode === mqttReasonCode.success, sessionExpiry: expiry };
    this.#owner.leave();
  }
}

/** The clock as topic `$time` serves it: milliseconds since 1970. */
function clock(now: number): Buffer {
  return Buffer.from(JSON.stringify({ time: now }));
}
