import type { IPublishPacket, Packet } from "mqtt-packet";
import { type Accept, type Origin, payloadBytesMax } from "../../accept.js";
import { count, type EndReason, type Meter } from "../../meter.js";
import { mayPublish } from "../../policies.js";
import { messageKey, type Taken } from "../../redelivery.js";
import type { Sessions } from "../../sessions.js";
import { isTopicName } from "../../topics.js";
import type { Unreleased } from "../../unreleased.js";
import type { Outbox } from "./outbox.js";

/** Taken and not acknowledged, per connection; beyond either it is not read. */
const inFlightMessagesMax = 1000;
const inFlightBytesMax = 1024 * 1024;

/** QoS 2 messages that a session may leave unreleased. */
const unreleasedMax = 1000;

/** First bytes of the acknowledgements, MQTT 3.1.1 §3.4 to §3.7. */
const firstBytes = { puback: 0x40, pubrec: 0x50, pubcomp: 0x70 } as const;

export interface InboundContext {
  readonly accept: Accept;
  readonly sessions: Sessions;
  readonly unreleased: Unreleased;
  readonly meter: Meter;
  takenBefore(origin: Origin): Promise<Taken>;
}

/** The connection that the messages come on. */
export interface InboundOwner {
  readonly origin: Origin;
  readonly isClosed: boolean;
  end(reason: EndReason): void;
  holdBack(action: () => Promise<void>, first?: Packet): void;
  markDirty(): void;
}

/** What a client publishes: redelivery recognised, kept by the journal, acknowledged in order. */
export class Inbound {
  readonly #context: InboundContext;
  readonly #outbox: Outbox;
  readonly #owner: InboundOwner;
  /** What the connection before had sent; read from the journal when the first DUP asks for it. */
  #taken: Taken | null = null;
  /** Acknowledgements that need no commit but wait for those before them [MQTT-4.6.0-2], [MQTT-4.6.0-3]. */
  readonly #behind: { readonly after: number; readonly firstByte: number; readonly messageID: number }[] = [];
  #appended = 0;
  #inFlightMessages = 0;
  #inFlightBytes = 0;

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

  publish(packet: IPublishPacket): void {
    const payload = packet.payload as Buffer;
    if (!isTopicName(packet.topic)) return this.#owner.end("protocol");
    if (payload.length > payloadBytesMax) return this.#owner.end("oversize");
    if (packet.qos === 2) return this.#publishExactlyOnce(packet, payload);
    if (packet.qos === 1 && packet.dup) return this.#publishRedelivered(packet, payload);
    this.#append(packet, payload, packet.qos === 1 ? firstBytes.puback : null);
  }

  /** PUBREL: the id is free again once the journal has it. */
  release(id: number): void {
    const { origin } = this.#owner;
    const unreleased = this.#context.unreleased.of(origin.device.id, origin.session);
    if (!unreleased.has(id)) return this.#outbox.acknowledge(firstBytes.pubcomp, id);
    this.#context.accept.release(origin, id, () => {
      unreleased.delete(id);
      this.#context.unreleased.touch(origin.device.id, origin.session);
      this.#acknowledge(firstBytes.pubcomp, id);
    });
  }

  /** QoS 1 with DUP: acknowledged and nothing else where the connection before had sent it. */
  #publishRedelivered(packet: IPublishPacket, payload: Buffer): void {
    const taken = this.#taken;
    if (taken === null) {
      const recall = async () => {
        this.#taken = await this.#context.takenBefore(this.#owner.origin);
      };
      return this.#owner.holdBack(recall, packet);
    }
    const messageID = packet.messageId ?? 0;
    if (!taken.has(messageKey({ messageID, topic: packet.topic, payload }))) {
      return this.#append(packet, payload, firstBytes.puback);
    }
    this.#context.meter.redelivered++;
    this.#acknowledgeInTurn(firstBytes.puback, messageID);
  }

  /** QoS 2, method B of MQTT 3.1.1 §4.3.3: the id is checked before the append. */
  #publishExactlyOnce(packet: IPublishPacket, payload: Buffer): void {
    const id = packet.messageId ?? 0;
    const { device, session } = this.#owner.origin;
    const unreleased = this.#context.unreleased.of(device.id, session);
    const state = unreleased.get(id);
    // Without DUP an inherited id is a new message: this client has begun a new session.
    if (state === "kept" || (state === "inherited" && packet.dup)) {
      this.#context.meter.redelivered++;
      return this.#acknowledgeInTurn(firstBytes.pubrec, id);
    }
    // An earlier connection of the session sent it and the disk has not taken it yet.
    if (state === "pending") return this.#owner.holdBack(() => this.#context.accept.allKept(), packet);
    if (!unreleased.has(id) && unreleased.size >= unreleasedMax) return this.#owner.end("unreleased");
    unreleased.set(id, "pending");
    this.#context.unreleased.touch(device.id, session);
    this.#append(packet, payload, firstBytes.pubrec, () => unreleased.set(id, "kept"));
  }

  #append(packet: IPublishPacket, payload: Buffer, answer: number | null, kept?: () => void): void {
    const { origin } = this.#owner;
    const messageID = packet.messageId ?? 0;
    const { topic, qos, dup, retain } = packet;
    this.#appended++;
    this.#inFlightMessages++;
    this.#inFlightBytes += payload.length;
    // Below MQTT 5 nothing can be answered but that it is kept; so it is, as a refused event.
    const refused = !mayPublish(origin.device, topic);
    if (refused) count(this.#context.meter.policyRefused, "publish");
    this.#context.accept.uplink(origin, { topic, payload, qos, dup, retain, messageID, refused }, () => {
      this.#inFlightMessages--;
      this.#inFlightBytes -= payload.length;
      kept?.();
      if (answer !== null) this.#acknowledge(answer, messageID);
      if (this.#behind.length > 0) this.#acknowledgeBehind();
      if (!refused) this.#context.sessions.publish(origin.device.id, topic, payload, qos);
    });
  }

  #acknowledge(firstByte: number, messageID: number): void {
    if (this.#owner.isClosed) return;
    this.#outbox.acknowledge(firstByte, messageID);
    this.#owner.markDirty();
  }

  /** Acknowledges what was kept before, once everything sent before it on this connection is acknowledged. */
  #acknowledgeInTurn(firstByte: number, messageID: number): void {
    if (this.#inFlightMessages === 0) return this.#outbox.acknowledge(firstByte, messageID);
    this.#behind.push({ after: this.#appended, firstByte, messageID });
  }

  #acknowledgeBehind(): void {
    const kept = this.#appended - this.#inFlightMessages;
    for (let next = this.#behind[0]; next !== undefined && next.after <= kept; next = this.#behind[0]) {
      this.#behind.shift();
      this.#acknowledge(next.firstByte, next.messageID);
    }
  }
}
