import mqttPacket from "mqtt-packet";
import { count, type Meter } from "../../meter.js";
import {
  isExpired,
  type Link,
  type Message,
  type Outgoing,
  type SessionState,
} from "../../sessions/state.js";
import type { Outbox } from "./outbox.js";

/** Messages to one connection: the in-flight window over what its session has to deliver. */
export interface Deliveries extends Link {
  /** Sends what the session still holds, in order [MQTT-4.4.0-1], [MQTT-4.6.0-1]. */
  resume(): void;
  /** PUBACK and PUBCOMP end a delivery; PUBREC moves it on. Unknown ids are ignored. */
  acknowledged(messageID: number): void;
  received(messageID: number): void;
}

/** What becomes of a delivery, on record. */
export interface DeliveryRecords {
  /** The message needs no more; `done` ends at once or with the next commit. */
  delivered(messageID: number): void;
  received(messageID: number, done: () => void): void;
}

export interface DeliveryOptions {
  readonly outbox: Outbox;
  readonly meter: Meter;
  readonly records: DeliveryRecords;
  readonly isClosed: () => boolean;
  readonly markDirty: () => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** QoS 1 and 2 messages that the client takes at once. */
  readonly inFlightMax: number;
}

export const inFlightDefault = 100;
/** Beyond this a reader is too slow for messages that nobody acknowledges. */
export const waitingBytesMax = 1024 * 1024;

const pubrelFirstByte = 0x62;

export function createDeliveries(
  state: Pick<SessionState, "outgoing">,
  { outbox, meter, records, isClosed, markDirty, now, inFlightMax }: DeliveryOptions,
): Deliveries {
  /** Sent on this connection and not settled. */
  const inFlight = new Set<number>();
  /** Packet ids behind the window. */
  let waiting: number[] = [];

  function publish(message: Outgoing): void {
    const { messageID, topic, qos, retain, sent: dup } = message;
    inFlight.add(messageID);
    message.sent = true;
    outbox.push(
      mqttPacket.generate({
        ...{
          cmd: "publish",
          topic,
          payload: Buffer.from(message.payload),
          qos,
          messageId: messageID,
          dup,
          retain,
        },
      }),
    );
  }

  function sendOn(message: Outgoing): void {
    if (message.received) {
      inFlight.add(message.messageID);
      outbox.acknowledge(pubrelFirstByte, message.messageID);
    } else if (isExpired(message, now() * 1000)) {
      count(meter.dropped, "expired");
      records.delivered(message.messageID);
    } else {
      publish(message);
    }
    markDirty();
  }

  function fill(): void {
    let taken = 0;
    for (; taken < waiting.length && inFlight.size < inFlightMax; taken++) {
      const message = state.outgoing.get(waiting[taken] as number);
      if (message !== undefined) sendOn(message);
    }
    if (taken > 0) waiting = waiting.slice(taken);
  }

  return {
    deliver: (message: Message) => {
      if (outbox.waitingBytes > waitingBytesMax) {
        count(meter.dropped, "slow_reader");
        return false;
      }
      const { topic, retain } = message;
      const payload = Buffer.from(message.payload);
      outbox.push(mqttPacket.generate({ cmd: "publish", topic, payload, qos: 0, dup: false, retain }));
      markDirty();
      return true;
    },
    send: (message) => {
      if (waiting.length === 0 && inFlight.size < inFlightMax) sendOn(message);
      else waiting.push(message.messageID);
    },
    resume: () => {
      waiting = [...state.outgoing.keys()];
      fill();
    },
    acknowledged: (messageID) => {
      if (!inFlight.delete(messageID)) return;
      records.delivered(messageID);
      fill();
    },
    received: (messageID) => {
      const message = state.outgoing.get(messageID);
      if (message?.qos !== 2 || !inFlight.has(messageID)) return;
      // Once the client may forget the id, the message must never go again: that has to be on disk first.
      records.received(messageID, () => {
        if (isClosed()) return;
        outbox.acknowledge(pubrelFirstByte, messageID);
        markDirty();
      });
    },
  };
}
