import { count, type Meter } from "../../meter.js";
import type { Carried, Settled } from "../../sessions.js";
import type { Outbox } from "./outbox.js";
import type { OutgoingMessage, PublishEncoder } from "./publish-packet.js";
import { failure } from "./reasons.js";

/** Messages to one connection: packet ids, the in-flight window and what waits behind it. */
export interface Deliveries {
  /** False where the reader is too slow for it. `settled` tells of QoS 1 and 2 how it ended. */
  deliver(topic: string, payload: Uint8Array, qos: number, settled?: Settled, carried?: Carried): boolean;
  /** PUBACK and PUBCOMP end a delivery; PUBREC moves it on. Unknown ids are ignored. */
  acknowledged(messageID: number, code: number): void;
  /** False for an id that is not in flight. */
  received(messageID: number, code: number): boolean;
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
  readonly carried: Carried;
  readonly takenAt: number;
}

const pubrelFirstByte = 0x62;
const nothing: Carried = { retain: false, properties: null, identifiers: [] };

export function createDeliveries(
  outbox: Outbox,
  meter: Meter,
  encoder: PublishEncoder,
  now: () => number,
): Deliveries {
  const window = Math.min(inFlightMax, encoder.receiveMaximum);
  const inFlight = new Map<number, Message>();
  const queue: Message[] = [];
  let lastID = 0;

  function nextID(): number {
    do lastID = (lastID % 65_535) + 1;
    while (inFlight.has(lastID));
    return lastID;
  }

  /** False where it goes no further: the client takes no packet of that size, or it has expired. */
  function write(message: Omit<OutgoingMessage, "dup">, waitedMs: number): boolean {
    const seconds = message.properties?.messageExpiryInterval;
    const left = seconds === undefined ? undefined : Math.ceil(seconds - waitedMs / 1000);
    if (left !== undefined && left <= 0) return false;
    const properties =
      left === undefined ? message.properties : { ...message.properties, messageExpiryInterval: left };
    const bytes = encoder.encode({ ...message, dup: false, properties });
    if (bytes === null) count(meter.dropped, "too_large");
    else outbox.push(bytes);
    return bytes !== null;
  }

  function send(message: Message): boolean {
    const messageID = nextID();
    const { topic, payload, qos, carried } = message;
    if (!write({ topic, payload, qos, messageID, ...carried }, now() - message.takenAt)) return false;
    inFlight.set(messageID, message);
    return true;
  }

  function finish(messageID: number, code: number): void {
    const message = inFlight.get(messageID);
    if (message === undefined) return;
    inFlight.delete(messageID);
    message.settled?.(code < failure);
    while (inFlight.size < window) {
      const next = queue.shift();
      if (next === undefined) return;
      if (!send(next)) next.settled?.(false);
    }
  }

  return {
    deliver: (topic, payload, qos, settled, carried = nothing) => {
      if (qos === 0) {
        if (outbox.waitingBytes > waitingBytesMax) {
          count(meter.dropped, "slow_reader");
          return false;
        }
        return write({ topic, payload, qos, messageID: 0, ...carried }, 0);
      } else {
        const takenAt = now();
        const message: Message = { topic, payload, qos: qos === 1 ? 1 : 2, settled, carried, takenAt };
        if (inFlight.size < window) return send(message);
        if (queue.length < queueMessagesMax) queue.push(message);
        else {
          count(meter.dropped, "queue_full");
          return false;
        }
      }
      return true;
    },
    acknowledged: finish,
    received: (messageID, code) => {
      if (!inFlight.has(messageID)) return false;
      // The client does not want it [MQTT-4.3.3-4].
      if (code >= failure) finish(messageID, code);
      else outbox.acknowledge(pubrelFirstByte, messageID);
      return true;
    },
    close: () => {
      const left = [...inFlight.values(), ...queue];
      inFlight.clear();
      queue.length = 0;
      for (const message of left) message.settled?.(false);
    },
  };
}
