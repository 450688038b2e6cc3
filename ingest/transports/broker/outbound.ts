import { asError } from "../../../store/lib/errors.js";
import type { Settled } from "../../sessions/state.js";
import { createPublishEncoder } from "../mqtt/codec/publish-packet.js";
import type { BrokerLink } from "./link.js";
import type { Accepted } from "./packets.js";
import { downlinkTopic } from "./topics.js";

/** A message of ours to one device. */
interface BrokerDownlink {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  /** Seconds that it may wait; 0: without end. */
  readonly ttl: number;
}

/** none: the broker is away, or too much waits for it; otherwise as for sessions. */
type SentThroughBroker = "none" | "sent" | "awaited";

/** Messages down through the broker. */
export interface Outbound {
  readonly isUp: boolean;
  /**
   * `settled` is called once for a message that is awaited: true when the broker has it for somebody, false when it
   * says that nobody listens, refuses it, its time is over, or the connection ends before the broker has answered.
   */
  send(deviceID: string, message: BrokerDownlink, settled: Settled): SentThroughBroker;
  begin(link: BrokerLink, accepted: Accepted): void;
  acknowledged(messageID: number, code: number): void;
  end(): void;
}

interface Outgoing {
  readonly messageID: number;
  readonly topic: string;
  readonly message: BrokerDownlink;
  /** Milliseconds since 1970; infinite without end. */
  readonly expiresAt: number;
  readonly settled: Settled;
  sent: boolean;
}

/** Not acknowledged by the broker, over all devices. */
const outgoingMessagesMax = 10_000;
const outgoingBytesMax = 32 * 1024 * 1024;
/** Reserved for SUBSCRIBE. */
const messageIDMax = 65_534;
/** Messages of QoS 0 are not sent while so much waits for the broker. */
const waitingBytesMax = 16 * 1024 * 1024;
const noMatchingSubscribers = 0x10;

interface OutboundDeps {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** There are bytes to flush, soon. */
  readonly onSent: () => void;
  /** A message that cannot be written as a packet: it alone is given up. */
  readonly onFault: (error: Error) => void;
}

export function createOutbound({ now, onSent, onFault }: OutboundDeps): Outbound {
  const outgoing = new Map<number, Outgoing>();
  let bytes = 0;
  let lastID = 0;
  let inFlight = 0;
  let current: { readonly link: BrokerLink; readonly accepted: Accepted; readonly encode: Encode } | null =
    null;

  function nextID(): number {
    do lastID = (lastID % messageIDMax) + 1;
    while (outgoing.has(lastID));
    return lastID;
  }

  function forget(one: Outgoing, acknowledged: boolean): void {
    outgoing.delete(one.messageID);
    bytes -= countBytes(one);
    one.settled(acknowledged);
  }

  function write(one: Outgoing): void {
    if (current === null) return;
    const packet = encodeOutgoing(one, current.encode);
    if (packet === null) return forget(one, false);
    one.sent = true;
    inFlight++;
    current.link.push(packet);
    onSent();
  }

  /** Null if it goes no further: its time is over, it is too large for the broker, or cannot be encoded. */
  function encodeOutgoing(one: Outgoing, encode: Encode): Buffer | null {
    const left = secondsLeft(one);
    if (left <= 0) return null;
    try {
      return encode(one, left);
    } catch (error) {
      onFault(asError(error));
      return null;
    }
  }

  /** By the wall clock, as its log expires; never more than it had, even if that clock is set back. */
  function secondsLeft({ expiresAt, message: { ttl } }: Outgoing): number {
    if (!Number.isFinite(expiresAt)) return Number.POSITIVE_INFINITY;
    return Math.min(ttl, Math.ceil((expiresAt - now()) / 1000));
  }

  /** Sends as many as the broker takes at once. */
  function sendMore(): void {
    if (current === null) return;
    for (const one of outgoing.values()) {
      if (inFlight >= current.accepted.receiveMaximum) return;
      if (!one.sent) write(one);
    }
  }

  return {
    get isUp() {
      return current !== null;
    },
    send: (deviceID, message, settled) => {
      if (current === null) return "none";
      const topic = downlinkTopic(deviceID, message.topic);
      const expiresAt = message.ttl === 0 ? Number.POSITIVE_INFINITY : now() + message.ttl * 1000;
      if (message.qos === 0) {
        if (current.link.waitingBytes > waitingBytesMax) return "none";
        const one = { messageID: 0, topic, message, expiresAt, settled, sent: false };
        const packet = encodeOutgoing(one, current.encode);
        if (packet === null) return "none";
        current.link.push(packet);
        onSent();
        return "sent";
      }
      if (outgoing.size >= outgoingMessagesMax || bytes + countBytes({ topic, message }) > outgoingBytesMax)
        return "none";
      const one: Outgoing = { messageID: nextID(), topic, message, expiresAt, settled, sent: false };
      outgoing.set(one.messageID, one);
      bytes += countBytes(one);
      if (inFlight < current.accepted.receiveMaximum) write(one);
      return "awaited";
    },
    begin: (link, accepted) => {
      current = { link, accepted, encode: createEncoder(accepted) };
      inFlight = 0;
      sendMore();
    },
    acknowledged: (messageID, code) => {
      const one = outgoing.get(messageID);
      if (one === undefined) return;
      inFlight = Math.max(0, inFlight - 1);
      forget(one, code < noMatchingSubscribers);
      sendMore();
    },
    end: () => {
      current = null;
      // Not sent again: a broker hands on as new what it gets again at QoS 1, and no device is to get a command twice.
      for (const one of [...outgoing.values()]) if (one.sent) forget(one, false);
    },
  };
}

function countBytes({ topic, message }: Pick<Outgoing, "topic" | "message">): number {
  return topic.length + message.payload.length;
}

/** Null if the broker does not take so large a packet. */
type Encode = (one: Outgoing, secondsLeft: number) => Buffer | null;

function createEncoder({ packetBytesMax, receiveMaximum }: Accepted): Encode {
  const encoder = createPublishEncoder({
    version: 5,
    receiveMaximum,
    packetBytesMax,
    topicAliasMax: 0,
    problemInformation: true,
  });
  return ({ topic, messageID, message: { payload, qos } }, left) =>
    encoder.encode({
      topic,
      payload,
      qos,
      messageID,
      dup: false,
      retain: false,
      identifiers: [],
      properties: Number.isFinite(left) ? { messageExpiryInterval: left } : null,
    });
}
