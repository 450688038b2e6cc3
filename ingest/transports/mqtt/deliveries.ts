import mqttPacket from "mqtt-packet";
import { count, type Meter } from "../../meter.js";
import type { Settled } from "../../sessions.js";
import type { Outbox } from "./outbox.js";

/** Messages to one connection: packet ids, the in-flight window and what waits behind it. */
export interface Deliveries {
  /** False where the reader is too slow for it. `settled` tells of QoS 1 and 2 how it ended. */
  deliver(topic: string, payload: Uint8Array, qos: number, settled?: Settled): boolean;
  /** PUBACK and PUBCOMP end a delivery; PUBREC moves it on. Unknown ids are ignored. */
  acknowledged(messageID: number): void;
  received(messageID: number): void;
  /** The connection has ended: what was not acknowledged will not be. */
  close(): void;
}

export const inFlightMax = 100;
export const queueMessagesMax = 1000;
/** Beyond this a reader is too slow for messages that nobody acknowledges. */
export const waitingBytesMax = 1024 * 1024;

interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 1 | 2;
  readonly settled: Settled | undefined;
}

const pubrelFirstByte = 0x62;

export function createDeliveries(outbox: Outbox, meter: Meter): Deliveries {
  const inFlight = new Map<number, Message>();
  const queue: Message[] = [];
  let lastID = 0;

  function nextID(): number {
    do lastID = (lastID % 65_535) + 1;
    while (inFlight.has(lastID));
    return lastID;
  }

  function send(message: Message): void {
    const messageId = nextID();
    inFlight.set(messageId, message);
    outbox.push(
      mqttPacket.generate({
        cmd: "publish",
        topic: message.topic,
        payload: Buffer.from(message.payload),
        qos: message.qos,
        messageId,
        dup: false,
        retain: false,
      }),
    );
  }

  return {
    deliver: (topic, payload, qos, settled) => {
      if (qos === 0) {
        if (outbox.waitingBytes > waitingBytesMax) {
          count(meter.dropped, "slow_reader");
          return false;
        }
        const packet = { cmd: "publish", topic, payload: Buffer.from(payload), qos: 0 } as const;
        outbox.push(mqttPacket.generate({ ...packet, dup: false, retain: false }));
      } else {
        const message: Message = { topic, payload, qos: qos === 1 ? 1 : 2, settled };
        if (inFlight.size < inFlightMax) send(message);
        else if (queue.length < queueMessagesMax) queue.push(message);
        else {
          count(meter.dropped, "queue_full");
          return false;
        }
      }
      return true;
    },
    acknowledged: (messageID) => {
      const message = inFlight.get(messageID);
      if (message === undefined) return;
      inFlight.delete(messageID);
      message.settled?.(true);
      const next = queue.shift();
      if (next !== undefined) send(next);
    },
    received: (messageID) => {
      if (inFlight.has(messageID)) outbox.acknowledge(pubrelFirstByte, messageID);
    },
    close: () => {
      const left = [...inFlight.values(), ...queue];
      inFlight.clear();
      queue.length = 0;
      for (const message of left) message.settled?.(false);
    },
  };
}
