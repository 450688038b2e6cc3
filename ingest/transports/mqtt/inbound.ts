import { type Accept, type Origin, payloadBytesMax } from "../../accept.js";
import type { DeviceEntry } from "../../directory.js";
import type { EndReason, Meter } from "../../meter.js";
import { messageKey, type Taken } from "../../redelivery.js";
import type { Sessions } from "../../sessions.js";
import { isTopicName } from "../../topics.js";
import type { Unreleased } from "../../unreleased.js";
import { negativeAck } from "./answers.js";
import type { Outbox } from "./outbox.js";
import type { ClientPacket, PublishPacket, Terms } from "./packets.js";
import { Violation } from "./reader.js";
import { code, failure } from "./reasons.js";

/** Taken and not acknowledged, per connection; beyond either it is not read. */
const inFlightMessagesMax = 1000;
const inFlightBytesMax = 1024 * 1024;

/** QoS 2 messages that a session may leave unreleased. */
const unreleasedMax = 1000;

/** Messages of QoS 1 and 2 that a client of MQTT 5 may leave unacknowledged: Receive Maximum of our CONNACK. */
export const receiveMaximum = 1000;

/** First bytes of the acknowledgements, MQTT 3.1.1 §3.4 to §3.7. */
const firstBytes = { puback: 0x40, pubrec: 0x50, pubcomp: 0x70 } as const;
type Answer = keyof typeof firstBytes;

export interface InboundContext {
  readonly accept: Accept;
  readonly sessions: Sessions;
  readonly unreleased: Unreleased;
  readonly meter: Meter;
  takenBefore(origin: Origin): Promise<Taken>;
  /** Whether the device may not publish to the topic; absent: it may publish everywhere. */
  refuses?(device: DeviceEntry, topic: string): boolean;
}

/** The connection that the messages come on. */
export interface InboundOwner {
  readonly origin: Origin;
  readonly clientID: string;
  readonly terms: Terms;
  readonly isClosed: boolean;
  end(reason: EndReason): void;
  holdBack(action: () => Promise<void>, first?: ClientPacket): void;
  markDirty(): void;
}

interface Waiting {
  /** So many messages must be kept first. */
  readonly after: number;
  readonly answer: Answer;
  readonly messageID: number;
  readonly reasonCode: number;
}

/** What a client publishes: redelivery recognised, kept by the journal, acknowledged in order. */
export class Inbound {
  readonly #context: InboundContext;
  readonly #outbox: Outbox;
  readonly #owner: InboundOwner;
  /** What the connection before had sent; read from the journal when the first DUP asks for it. */
  #taken: Taken | null = null;
  /** Acknowledgements that need no commit but wait for those before them [MQTT-4.6.0-2], [MQTT-4.6.0-3]. */
  readonly #behind: Waiting[] = [];
  #appended = 0;
  #inFlightMessages = 0;
  #inFlightBytes = 0;
  /** Of QoS 1 and 2 on this connection [MQTT-3.3.4-7 of 5.0]. */
  #unacknowledged = 0;

  constructor(context: InboundContext, outbox: Outbox, owner: InboundOwner) {
    this.#context = context;
    this.#outbox = outbox;
    this.#owner = owner;
  }

  /** Whether `share` of the window is in flight. */
  isFull(share: number): boolean {
    return (
      this.#inFlightMessages > inFlightMessagesMax * share || this.#inFlightBytes > inFlightBytesMax * share
    );
  }

  /** @throws Violation where the message is none */
  publish(packet: PublishPacket): void {
    const { topic, payload, qos, dup } = packet;
    if (!isTopicName(topic)) throw new Violation("topic_name", "a topic name has no wildcards");
    if (payload.length > payloadBytesMax) {
      throw new Violation("oversize", `a payload may have ${payloadBytesMax} bytes`);
    }
    if (qos === 2) this.#publishExactlyOnce(packet);
    else if (this.#isRefused(topic)) this.#refuse(packet, "puback");
    else if (qos === 1 && dup) this.#publishRedelivered(packet);
    else {
      this.#countUnacknowledged(packet);
      this.#append(packet, qos === 1 ? "puback" : null);
    }
  }

  /** PUBREL: the id is free again once the journal has it. */
  release(id: number): void {
    const { origin, terms } = this.#owner;
    const unreleased = this.#context.unreleased.of(origin.device.id, origin.session);
    if (!unreleased.has(id)) {
      return this.#answer("pubcomp", id, terms.version === 5 ? code.packetIDNotFound : code.success);
    }
    this.#context.accept.release(origin, id, () => {
      unreleased.delete(id);
      this.#context.unreleased.touch(origin.device.id, origin.session);
      this.#answer("pubcomp", id);
    });
  }

  /** MQTT 5 is told so and nothing is kept; before it there is no word for no. */
  #isRefused(topic: string): boolean {
    const { terms, origin } = this.#owner;
    return terms.version === 5 && (this.#context.refuses?.(origin.device, topic) ?? false);
  }

  #refuse(packet: PublishPacket, answer: Answer): void {
    if (packet.qos === 0) return;
    this.#countUnacknowledged(packet);
    this.#answerInTurn(answer, packet.messageID, code.notAuthorized);
  }

  /** QoS 1 with DUP: acknowledged and nothing else where the connection before had sent it. */
  #publishRedelivered(packet: PublishPacket): void {
    const taken = this.#taken;
    if (taken === null) {
      const recall = async () => {
        this.#taken = await this.#context.takenBefore(this.#owner.origin);
      };
      return this.#owner.holdBack(recall, packet);
    }
    this.#countUnacknowledged(packet);
    if (!taken.has(messageKey(packet))) return this.#append(packet, "puback");
    this.#context.meter.redelivered++;
    this.#answerInTurn("puback", packet.messageID);
  }

  /** QoS 2, method B of MQTT 3.1.1 §4.3.3: the id is checked before the append. */
  #publishExactlyOnce(packet: PublishPacket): void {
    const id = packet.messageID;
    const { device, session } = this.#owner.origin;
    const unreleased = this.#context.unreleased.of(device.id, session);
    const state = unreleased.get(id);
    // Without DUP an inherited id is a new message: this client has begun a new session.
    if (state === "kept" || (state === "inherited" && packet.dup)) {
      this.#context.meter.redelivered++;
      if (state === "inherited") this.#countUnacknowledged(packet);
      return this.#answerInTurn("pubrec", id);
    }
    // An earlier connection of the session sent it and the disk has not taken it yet.
    if (state === "pending") return this.#owner.holdBack(() => this.#context.accept.allKept(), packet);
    if (this.#isRefused(packet.topic)) return this.#refuse(packet, "pubrec");
    if (!unreleased.has(id) && unreleased.size >= unreleasedMax) return this.#owner.end("unreleased");
    this.#countUnacknowledged(packet);
    unreleased.set(id, "pending");
    this.#context.unreleased.touch(device.id, session);
    this.#append(packet, "pubrec", () => unreleased.set(id, "kept"));
  }

  #append(packet: PublishPacket, answer: Answer | null, kept?: () => void): void {
    const { origin, clientID } = this.#owner;
    const { topic, payload, qos, messageID } = packet;
    this.#appended++;
    this.#inFlightMessages++;
    this.#inFlightBytes += payload.length;
    this.#context.accept.uplink(origin, packet, () => {
      this.#inFlightMessages--;
      this.#inFlightBytes -= payload.length;
      kept?.();
      if (answer !== null) this.#answer(answer, messageID);
      if (this.#behind.length > 0) this.#answerBehind();
      this.#context.sessions.publish(origin.device.id, topic, payload, qos, packet, clientID);
    });
  }

  /** [MQTT-3.3.4-7] of 5.0: a client that sends more than we announced is cut off with reason 0x93. */
  #countUnacknowledged(packet: PublishPacket): void {
    if (packet.qos === 0) return;
    if (this.#owner.terms.version === 5 && this.#unacknowledged >= receiveMaximum) {
      throw new Violation("receive_maximum", `${receiveMaximum} messages may be unacknowledged`);
    }
    this.#unacknowledged++;
  }

  #answer(answer: Answer, messageID: number, reasonCode: number = code.success): void {
    if (this.#owner.isClosed) return;
    const ends = answer !== "pubrec" || reasonCode >= failure;
    if (ends && this.#unacknowledged > 0) this.#unacknowledged--;
    if (reasonCode === code.success) this.#outbox.acknowledge(firstBytes[answer], messageID);
    else this.#push(negativeAck(this.#owner.terms, answer, messageID, reasonCode, words[reasonCode] ?? ""));
    this.#owner.markDirty();
  }

  #push(bytes: Buffer | null): void {
    if (bytes === null) this.#owner.end("oversize");
    else this.#outbox.push(bytes);
  }

  /** Answers what needs no commit, once everything sent before it on this connection is acknowledged. */
  #answerInTurn(answer: Answer, messageID: number, reasonCode: number = code.success): void {
    if (this.#inFlightMessages === 0) return this.#answer(answer, messageID, reasonCode);
    this.#behind.push({ after: this.#appended, answer, messageID, reasonCode });
  }

  #answerBehind(): void {
    const kept = this.#appended - this.#inFlightMessages;
    for (let next = this.#behind[0]; next !== undefined && next.after <= kept; next = this.#behind[0]) {
      this.#behind.shift();
      this.#answer(next.answer, next.messageID, next.reasonCode);
    }
  }
}

const words: Readonly<Record<number, string>> = {
  [code.notAuthorized]: "the device may not publish to this topic",
  [code.packetIDNotFound]: "no message with this packet id waits for PUBREL",
};
