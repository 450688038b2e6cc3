import type { IPublishPacket, Packet } from "mqtt-packet";
import { type Accept, type Origin, payloadBytesMax } from "../../accept.js";
import type { EndReason, Meter } from "../../meter.js";
import { messageKey, type Taken } from "../../redelivery.js";
import { unreleasedMax } from "../../sessions/bounds.js";
import type { SessionRecords } from "../../sessions/records.js";
import type { Spaces } from "../../sessions/spaces.js";
import type { SessionState } from "../../sessions/state.js";
import { isTopicName } from "../../topics.js";
import type { Outbox } from "./outbox.js";

/** Taken and not acknowledged, per connection; beyond either it is not read. */
const inFlightMessagesMax = 1000;
const inFlightBytesMax = 1024 * 1024;

/** First bytes of the acknowledgements, MQTT 3.1.1 §3.4 to §3.7. */
const firstBytes = { puback: 0x40, pubrec: 0x50, pubcomp: 0x70 } as const;

export interface InboundContext {
  readonly accept: Accept;
  readonly spaces: Spaces;
  readonly records: SessionRecords;
  readonly meter: Meter;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  takenBefore(origin: Origin): Promise<Taken>;
}

/** The connection that the messages come on. */
export interface InboundOwner {
  readonly origin: Origin;
  /** Not null once messages come. */
  readonly state: SessionState | null;
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
  /** QoS 2 ids on their way to the disk. */
  readonly #pending = new Set<number>();
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
    const { origin, state } = this.#owner;
    if (state === null || !state.unreleased.has(id)) return this.#outbox.acknowledge(firstBytes.pubcomp, id);
    this.#context.records.release(origin, state, id, () => this.#acknowledge(firstBytes.pubcomp, id));
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
    const { state } = this.#owner;
    if (state === null) return;
    if (state.unreleased.has(id) || this.#pending.has(id)) {
      this.#context.meter.redelivered++;
      return this.#acknowledgeInTurn(firstBytes.pubrec, id);
    }
    if (state.unreleased.size + this.#pending.size >= unreleasedMax) return this.#owner.end("unreleased");
    this.#pending.add(id);
    this.#append(packet, payload, firstBytes.pubrec, () => {
      this.#pending.delete(id);
      this.#context.spaces.took(state, id);
    });
  }

  #append(packet: IPublishPacket, payload: Buffer, answer: number | null, kept?: () => void): void {
    const { origin } = this.#owner;
    const messageID = packet.messageId ?? 0;
    const { topic, qos, dup, retain } = packet;
    const properties = null;
    this.#appended++;
    this.#inFlightMessages++;
    this.#inFlightBytes += payload.length;
    this.#context.accept.uplink(origin, { topic, payload, qos, dup, retain, messageID, properties }, () => {
      this.#inFlightMessages--;
      this.#inFlightBytes -= payload.length;
      kept?.();
      if (answer !== null) this.#acknowledge(answer, messageID);
      if (this.#behind.length > 0) this.#acknowledgeBehind();
      const at = this.#context.now() * 1000;
      const { device, session } = origin;
      this.#context.spaces.publish({
        device: device.id,
        session,
        topic,
        payload,
        qos,
        retain,
        properties,
        at,
      });
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
