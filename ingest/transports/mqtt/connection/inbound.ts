import { InFlight } from "../../../clients/in-flight.js";
import { emptySet, ownSet } from "../../../messages/shared-empty.js";
import { isTopicName, isWithinBytes, type TopicBounds } from "../../../messages/topics.js";
import type { EndReason, Meter } from "../../../meter.js";
import { mayPublish } from "../../../policies.js";
import { unreleasedMax } from "../../../sessions/bounds.js";
import { countRefusal, publishUplink } from "../../../sessions/publish.js";
import type { SessionRecords } from "../../../sessions/records.js";
import type { SessionRegistry } from "../../../sessions/session-registry.js";
import type { SessionState } from "../../../sessions/state.js";
import { unreleasedBytes } from "../../../sessions/weights.js";
import { type Accept, type Origin, payloadBytesMax } from "../../../uplinks/accept.js";
import { messageKey, type Taken } from "../../../uplinks/redelivery.js";
import { lightWorkMax, type WorkBudget } from "../../../uplinks/work-budget.js";
import { negativeAck } from "../codec/acknowledgements.js";
import type { PublishPacket, Terms } from "../codec/packets.js";
import { propertiesBytesMax } from "../codec/properties.js";
import { Violation } from "../codec/reader.js";
import { mqttReasonCode } from "../codec/reasons.js";
import { SentAgain } from "./sent-again.js";
import type { WriteBuffer } from "./write-buffer.js";

/** Messages of QoS 1 and 2 that a client of MQTT 5 may leave unacknowledged: Receive Maximum of our CONNACK. */
export const receiveMaximum = 1000;

/** First bytes of the acknowledgements, MQTT 3.1.1 §3.4 to §3.7. */
const firstBytes = { puback: 0x40, pubrec: 0x50, pubcomp: 0x70 } as const;
type Answer = keyof typeof firstBytes;

export interface InboundContext {
  readonly accept: Accept;
  readonly registry: SessionRegistry;
  readonly records: SessionRecords;
  readonly meter: Meter;
  readonly topics: TopicBounds;
  readonly work: WorkBudget;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  takenBefore(origin: Origin): Promise<Taken>;
}

/** The connection that the messages come on. */
export interface InboundOwner {
  readonly origin: Origin;
  readonly terms: Terms;
  readonly isClosed: boolean;
  /** Whether the client has been kept waiting, so that what it has sent may still be unread. */
  readonly isBehind: boolean;
  end(reason: EndReason): void;
  /** Reads nothing until `action` has ended, then calls `resume`, unless the connection has ended. */
  suspend(action: () => Promise<void>, resume?: () => void): void;
  markDirty(): void;
}

interface Waiting {
  /** How many messages must be kept first. */
  readonly after: number;
  readonly answer: Answer;
  readonly messageID: number;
  readonly refusal: Refusal | null;
}

/** The code of an MQTT 5 acknowledgement that says no. */
interface Refusal {
  readonly reasonCode: number;
  readonly text: string;
}

/**
 * Messages that a client publishes: redelivery is recognised, the journal keeps them, and they are acknowledged in
 * order.
 */
export class Inbound {
  readonly #context: InboundContext;
  readonly #writeBuffer: WriteBuffer;
  readonly #owner: InboundOwner;
  readonly #state: SessionState;
  /** QoS 2 ids on their way to the disk. */
  #pending: Set<number> | null = null;
  readonly #sentAgain = new SentAgain();
  /** What the connection before this one had sent; read from the journal when the first DUP needs it. */
  #taken: Taken | null = null;
  /** Acknowledgements that need no commit but wait for those before them [MQTT-4.6.0-2], [MQTT-4.6.0-3]. */
  readonly #behind: Waiting[] = [];
  #appended = 0;
  readonly #inFlight = new InFlight();
  /** Number of messages of QoS 1 and 2 on this connection [MQTT-3.3.4-7 of 5.0]. */
  #unacknowledged = 0;
  /** Those of QoS 2 among them that PUBCOMP has yet to end. */
  #exactlyOnce: ReadonlySet<number> = emptySet;
  /** What the message under way has taken of the budget; its append takes that over. */
  #work = 0;

  constructor(context: InboundContext, writeBuffer: WriteBuffer, owner: InboundOwner, state: SessionState) {
    this.#context = context;
    this.#state = state;
    this.#writeBuffer = writeBuffer;
    this.#owner = owner;
  }

  /** Whether `share` of the window is in flight. */
  isFull(share: number): boolean {
    return this.#inFlight.isFull(share, this.#behind.length);
  }

  /**
   * Whether a message is one of this connection that is sent again before its PUBACK can have come: nothing is done, for
   * one PUBACK answers both.
   */
  isSentAgain(packet: PublishPacket): boolean {
    if (packet.qos !== 1 || !packet.dup || !this.#sentAgain.has(packet)) return false;
    this.#context.meter.redelivered++;
    return true;
  }

  /** All that the client had sent by the last acknowledgement has been read. */
  caughtUp(): void {
    this.#sentAgain.caughtUp();
  }

  /** Takes the message, perhaps after the history of a redelivery and its turn. @throws Violation if it is malformed */
  publish(packet: PublishPacket): void {
    const { topic, excess, qos, dup } = packet;
    if (!isTopicName(topic)) throw new Violation("topic_name", "a topic name has no wildcards");
    // Before MQTT 5 a message that cannot be kept can only be refused by ending the connection.
    if (this.#owner.terms.version < 5) {
      if (excess !== null) throw new Violation("oversize", excessTexts[excess]);
      if (!isWithinBytes(topic, this.#context.topics)) throw new Violation("topic_name", tooLong);
    }
    if (qos === 1 && dup && this.#taken === null) {
      this.#owner.suspend(
        () => this.#recallTaken(),
        () => this.#takeInTurn(packet),
      );
    } else this.#takeInTurn(packet);
  }

  /** Takes the message once the work budget has capacity for what it causes. */
  #takeInTurn(packet: PublishPacket): void {
    const { work, registry } = this.#context;
    const cost = registry.publishCost(this.#owner.origin.device.id, packet.topic);
    if (cost <= lightWorkMax) this.#take(packet);
    else if (work.take(this.#state.tenant, cost)) this.#takeWith(cost, packet);
    else {
      this.#owner.suspend(
        () => this.#acquireWork(cost),
        () => this.#takeWith(cost, packet),
      );
    }
  }

  async #acquireWork(cost: number): Promise<void> {
    await this.#context.work.room(this.#state.tenant, cost);
    this.#work = cost;
    if (this.#owner.isClosed) this.giveWork();
  }

  #takeWith(cost: number, packet: PublishPacket): void {
    this.#work = cost;
    try {
      this.#take(packet);
    } finally {
      this.giveWork();
    }
  }

  /** Releases what was acquired and will not be used, because the message goes no further. */
  giveWork(): void {
    if (this.#work > 0) this.#context.work.give(this.#state.tenant, this.#work);
    this.#work = 0;
  }

  #take(packet: PublishPacket): void {
    const { qos, dup } = packet;
    const isAllowed = mayPublish(this.#owner.origin.device, packet.topic);
    const refusal = qos === 2 ? null : this.#findRefusal(packet, isAllowed);
    if (qos === 2) this.#publishExactlyOnce(packet, isAllowed);
    else if (refusal !== null) this.#refuse(packet, "puback", refusal);
    else if (qos === 1 && dup && this.#taken?.has(messageKey(packet)) === true) {
      // Sent again: it is acknowledged, and nothing else.
      this.#context.meter.redelivered++;
      this.#countUnacknowledged(packet);
      this.#answerInTurn("puback", packet.messageID);
    } else {
      this.#countUnacknowledged(packet);
      this.#append(packet, qos === 1 ? "puback" : null, isAllowed);
    }
  }

  async #recallTaken(): Promise<void> {
    this.#taken = await this.#context.takenBefore(this.#owner.origin);
  }

  /** PUBREL: the id is free again once the journal has it. */
  release(id: number): void {
    const { origin, terms } = this.#owner;
    if (!this.#state.unreleased.has(id)) {
      return this.#answer("pubcomp", id, terms.version === 5 ? unknownID : null);
    }
    this.#context.records.release(origin, this.#state, id, () => this.#answer("pubcomp", id));
  }

  /** In MQTT 5 the client receives a refusal and nothing is kept; earlier versions have no code for a refusal. */
  #findRefusal({ topic, excess }: PublishPacket, isAllowed: boolean): Refusal | null {
    if (this.#owner.terms.version < 5) return null;
    if (!isWithinBytes(topic, this.#context.topics))
      return { reasonCode: mqttReasonCode.topicName, text: tooLong };
    if (!isAllowed) return { reasonCode: mqttReasonCode.notAuthorized, text: notAllowed };
    // After a refusal the client need not send it again and again [MQTT-4.4.0-1].
    return excess === null ? null : { reasonCode: mqttReasonCode.quota, text: excessTexts[excess] };
  }

  #refuse(packet: PublishPacket, answer: Answer, refusal: Refusal): void {
    const reason =
      refusal.reasonCode === mqttReasonCode.quota
        ? "oversize"
        : refusal.reasonCode === mqttReasonCode.topicName
          ? "topic"
          : "policy";
    countRefusal(this.#context.meter, this.#state.tenant, reason);
    if (packet.qos === 0) return;
    this.#countUnacknowledged(packet);
    this.#answerInTurn(answer, packet.messageID, refusal);
  }

  /** QoS 2, method B of MQTT 3.1.1 §4.3.3: the id is checked before the append. */
  #publishExactlyOnce(packet: PublishPacket, isAllowed: boolean): void {
    const id = packet.messageID;
    const { unreleased, tenant, ownBytes } = this.#state;
    if (unreleased.has(id) || this.#pending?.has(id)) {
      this.#context.meter.redelivered++;
      return this.#answerInTurn("pubrec", id);
    }
    const refusal = this.#findRefusal(packet, isAllowed);
    if (refusal !== null) return this.#refuse(packet, "pubrec", refusal);
    this.#pending ??= new Set();
    const pending = this.#pending;
    const hasRoom = this.#context.registry.held.mayGrow(tenant, ownBytes, unreleasedBytes);
    if (unreleased.size + pending.size >= unreleasedMax || !hasRoom) return this.#owner.end("unreleased");
    this.#countUnacknowledged(packet);
    this.#exactlyOnce = ownSet(this.#exactlyOnce).add(id);
    pending.add(id);
    this.#append(packet, "pubrec", isAllowed, () => {
      pending.delete(id);
      this.#context.registry.took(this.#state, id);
    });
  }

  #append(packet: PublishPacket, answer: Answer | null, isAllowed: boolean, kept?: () => void): void {
    const { topic, payload, messageID } = packet;
    this.#appended++;
    // An alias of a few bytes stands for a whole topic.
    const bytes = topic.length + payload.length;
    this.#inFlight.add(bytes);
    const cost = this.#work;
    this.#work = 0;
    // Before MQTT 5 the only answer is that it is kept; so a refused message is kept, as an event.
    if (!isAllowed) countRefusal(this.#context.meter, this.#state.tenant, "policy");
    publishUplink(this.#context, this.#owner.origin, packet, !isAllowed, cost, () => {
      this.#inFlight.remove(bytes);
      kept?.();
      if (answer === "puback") this.#sentAgain.acknowledged(this.#owner.isBehind);
      if (answer !== null) this.#answer(answer, messageID);
      if (this.#behind.length > 0) this.#answerBehind();
    });
    if (answer === "puback") this.#sentAgain.taken(packet);
  }

  /** [MQTT-3.3.4-7] of 5.0: a client that sends more than we announced is cut off with reason 0x93. */
  #countUnacknowledged(packet: PublishPacket): void {
    if (packet.qos === 0) return;
    if (this.#owner.terms.version === 5 && this.#unacknowledged >= receiveMaximum) {
      throw new Violation("receive_maximum", `${receiveMaximum} messages may be unacknowledged`);
    }
    this.#unacknowledged++;
  }

  #answer(answer: Answer, messageID: number, refusal: Refusal | null = null): void {
    if (this.#owner.isClosed) return;
    if (this.#ends(answer, messageID, refusal)) this.#unacknowledged--;
    if (refusal === null) this.#writeBuffer.acknowledge(firstBytes[answer], messageID);
    else this.#push(negativeAck(this.#owner.terms, answer, messageID, refusal.reasonCode, refusal.text));
    this.#owner.markDirty();
  }

  /**
   * Whether it ends a message that was counted: a PUBREL that no message waits for does not, however often it comes.
   */
  #ends(answer: Answer, messageID: number, refusal: Refusal | null): boolean {
    if (answer === "pubcomp")
      return this.#exactlyOnce.size > 0 && ownSet(this.#exactlyOnce).delete(messageID);
    return answer === "puback" || refusal !== null;
  }

  #push(bytes: Buffer | null): void {
    if (bytes === null) this.#owner.end("oversize");
    else this.#writeBuffer.push(bytes);
  }

  /** Answers what needs no commit, once everything sent before it on this connection is acknowledged. */
  #answerInTurn(answer: Answer, messageID: number, refusal: Refusal | null = null): void {
    if (this.#inFlight.messages === 0) return this.#answer(answer, messageID, refusal);
    this.#behind.push({ after: this.#appended, answer, messageID, refusal });
  }

  #answerBehind(): void {
    const kept = this.#appended - this.#inFlight.messages;
    for (let next = this.#behind[0]; next !== undefined && next.after <= kept; next = this.#behind[0]) {
      this.#behind.shift();
      this.#answer(next.answer, next.messageID, next.refusal);
    }
  }
}

const tooLong = "the topic has too many bytes or levels";
const notAllowed = "the device may not publish to this topic";
const unknownID: Refusal = {
  reasonCode: mqttReasonCode.packetIDNotFound,
  text: "no message with this packet id waits for PUBREL",
};
const excessTexts = {
  payload: `a payload may have ${payloadBytesMax} bytes`,
  properties: `properties may have ${propertiesBytesMax} bytes`,
} as const;
