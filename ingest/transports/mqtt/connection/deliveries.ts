import { asError } from "../../../../store/lib/errors.js";
import { nextTurn } from "../../../../store/lib/scheduling.js";
import { emptySet, ownSet } from "../../../messages/shared-empty.js";
import { addCount, type Meter } from "../../../meter.js";
import type { Outgoing, SessionLink, SessionMessage, SessionState } from "../../../sessions/state.js";
import type { PublishEncoder } from "../codec/publish-packet.js";
import { failureCode } from "../codec/reasons.js";
import type { WriteBuffer } from "./write-buffer.js";

/** Messages to one connection: the in-flight window over what its session has to deliver. */
export interface Deliveries extends SessionLink {
  /** Sends what the session still holds, in order [MQTT-4.4.0-1], [MQTT-4.6.0-1]. */
  resume(): void;
  /** PUBACK and PUBCOMP end a delivery. Unknown ids are ignored. */
  acknowledged(messageID: number, code: number): void;
  /** PUBREC moves it on; false for an id that is not in flight. */
  received(messageID: number, code: number): boolean;
  /** Whether retained messages wait for the client to read. */
  readonly isHandingOver: boolean;
  /** Whether they wait now because the client has enough to read. */
  readonly isPaced: boolean;
  /** Writes some of them, until `isOver` or the client has enough to read. */
  handOverSome(isOver: () => boolean): void;
  /** The client is gone. */
  giveUpHandingOver(): void;
}

/** Records what becomes of a delivery. */
interface DeliveryRecords {
  /** The message needs no more: acknowledged, or given up. */
  delivered(messageID: number, acknowledged: boolean): void;
  received(messageID: number, done: () => void): void;
}

interface DeliveryOptions {
  readonly writeBuffer: WriteBuffer;
  readonly encoder: PublishEncoder;
  readonly meter: Meter;
  readonly records: DeliveryRecords;
  /** Whether a message may go down: allowed, and not expired. */
  readonly isDue: (message: SessionMessage) => boolean;
  readonly isClosed: () => boolean;
  readonly markDirty: () => void;
  /** Retained messages wait. */
  readonly onHandOver: () => void;
  /** A message that cannot be written as a packet: it alone is given up. */
  readonly onFault: (error: Error) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** QoS 1 and 2 messages that a client gets at once, unless it wants fewer. */
export const inFlightMax = 100;
/** Beyond this a client is too slow for messages that nobody acknowledges, and is not read itself. */
export const waitingBytesMax = 1024 * 1024;

/** Messages looked at in one turn: thousands may have expired, or be more than the client takes. */
const stepsPerTurn = 500;

/** Retained messages wait while the client has so much to read. */
const pacedBytesMax = 64 * 1024;

const pubrelFirstByte = 0x62;

export function createMqttDeliveries(
  state: Pick<SessionState, "outgoing">,
  options: DeliveryOptions,
): Deliveries {
  return new WindowedDeliveries(state, options);
}

/** A class, because ten thousand of them share one set of methods. */
class WindowedDeliveries implements Deliveries {
  readonly #state: Pick<SessionState, "outgoing">;
  readonly #options: DeliveryOptions;
  /** Sent on this connection and not settled. */
  #inFlight: ReadonlySet<number> = emptySet;
  /** Packet ids after the window, those from `#next` on; null: none. */
  #waiting: number[] | null = null;
  #next = 0;
  /** Retained messages of one subscription after the other; null: none. */
  #retained: Iterator<SessionMessage | null>[] | null = null;

  constructor(state: Pick<SessionState, "outgoing">, options: DeliveryOptions) {
    this.#state = state;
    this.#options = options;
  }

  get waitingBytes(): number {
    return this.#options.writeBuffer.waitingBytes;
  }

  deliver(message: SessionMessage): boolean {
    const { writeBuffer, meter, markDirty } = this.#options;
    if (writeBuffer.waitingBytes > waitingBytesMax) {
      addCount(meter.dropped, "slow_reader");
      return false;
    }
    const isWritten = this.#write(message, 0, false);
    if (isWritten) markDirty();
    return isWritten;
  }

  get isHandingOver(): boolean {
    return this.#retained !== null;
  }

  get isPaced(): boolean {
    return this.#retained !== null && this.#options.writeBuffer.waitingBytes > pacedBytesMax;
  }

  handOver(messages: Iterator<SessionMessage | null>): void {
    const isFirst = this.#retained === null;
    this.#retained ??= [];
    this.#retained.push(messages);
    if (isFirst) this.#options.onHandOver();
  }

  handOverSome(isOver: () => boolean): void {
    const retained = this.#retained;
    if (retained === null) return;
    let ended = 0;
    while (ended < retained.length && !this.isPaced && !isOver()) {
      const next = retained[ended]?.next();
      if (next?.done !== false) ended++;
      else if (next.value !== null) this.#write(next.value, 0, false);
    }
    this.#retained = ended === retained.length ? null : retained.slice(ended);
  }

  giveUpHandingOver(): void {
    this.#retained = null;
  }

  send(message: Outgoing): void {
    if (this.#waiting === null && this.#hasRoom()) this.#sendOn(message);
    else {
      this.#waiting ??= [];
      this.#waiting.push(message.messageID);
    }
  }

  resume(): void {
    if (this.#state.outgoing.size === 0) return;
    this.#waiting = [...this.#state.outgoing.keys()];
    this.#next = 0;
    this.#fill();
  }

  acknowledged(messageID: number, code: number): void {
    if (!ownSet(this.#inFlight).delete(messageID)) return;
    this.#options.records.delivered(messageID, code < failureCode);
    this.#fill();
  }

  received(messageID: number, code: number): boolean {
    const { writeBuffer, records, isClosed, markDirty } = this.#options;
    if (!this.#inFlight.has(messageID)) return false;
    // The client does not want it [MQTT-4.3.3-4].
    if (code >= failureCode) this.acknowledged(messageID, code);
    // Once the client may forget the id, the message must never go again: that has to be on disk first.
    else {
      records.received(messageID, () => {
        if (isClosed()) return;
        writeBuffer.acknowledge(pubrelFirstByte, messageID);
        markDirty();
      });
    }
    return true;
  }

  #hasRoom(): boolean {
    return this.#inFlight.size < Math.min(inFlightMax, this.#options.encoder.receiveMaximum);
  }

  /** False if it goes no further: it is forbidden, expired, larger than the client takes, or cannot be encoded. */
  #write(message: SessionMessage, messageID: number, dup: boolean): boolean {
    const { writeBuffer, encoder, meter, isDue, onFault, now } = this.#options;
    if (!isDue(message)) return false;
    const { topic, payload, qos, retain, identifiers } = message;
    const properties = withTimeLeft(message, now() * 1000);
    let bytes: Buffer | null;
    try {
      bytes = encoder.encode({ topic, payload, qos, messageID, dup, retain, properties, identifiers });
    } catch (error) {
      addCount(meter.dropped, "encoding");
      onFault(asError(error));
      return false;
    }
    if (bytes === null) addCount(meter.dropped, "packet_size");
    else writeBuffer.push(bytes);
    return bytes !== null;
  }

  #sendOn(message: Outgoing): void {
    const { writeBuffer, records, markDirty } = this.#options;
    const { messageID } = message;
    if (message.received) {
      this.#isInFlight(messageID);
      writeBuffer.acknowledge(pubrelFirstByte, messageID);
    } else if (this.#write(message, messageID, message.sent)) {
      this.#isInFlight(messageID);
      message.sent = true;
    } else {
      // A caller that waits for its end need not wait for the record.
      const { settled } = message;
      message.settled = undefined;
      settled?.(false);
      records.delivered(messageID, false);
    }
    markDirty();
  }

  #isInFlight(messageID: number): void {
    this.#inFlight = ownSet(this.#inFlight).add(messageID);
  }

  #fillLater(): void {
    void nextTurn().then(() => {
      if (!this.#options.isClosed()) this.#fill();
    });
  }

  #fill(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    for (let steps = 1; this.#next < waiting.length && this.#hasRoom(); steps++) {
      if (steps > stepsPerTurn) return this.#fillLater();
      const message = this.#state.outgoing.get(waiting[this.#next++] as number);
      if (message !== undefined) this.#sendOn(message);
    }
    if (this.#next === waiting.length) {
      this.#waiting = null;
      this.#next = 0;
    } else if (this.#next > waiting.length / 2) {
      // Not with each acknowledgement: thousands may wait.
      this.#waiting = waiting.slice(this.#next);
      this.#next = 0;
    }
  }
}

/**
 * Its expiry less the time that it has waited [MQTT-3.3.2-6]; if the clock was set back meanwhile, what the
 * publisher gave: never more, which four bytes might not hold.
 */
function withTimeLeft({ properties, at }: SessionMessage, nowMicros: number): SessionMessage["properties"] {
  const seconds = properties?.messageExpiryInterval;
  if (seconds === undefined) return properties;
  return { ...properties, messageExpiryInterval: Math.ceil(seconds - Math.max(0, nowMicros - at) / 1e6) };
}
