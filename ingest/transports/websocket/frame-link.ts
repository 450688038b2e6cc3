import type { ClientLink, DeliveryOptions } from "../../clients/client.js";
import { outgoingID } from "../../clients/outgoing-id.js";
import { addCount, type EndReason, type Meter } from "../../meter.js";
import type { Outgoing, SessionMessage, SessionState } from "../../sessions/state.js";

/** The socket, as messages that go down use it. */
export interface FrameSocket {
  /** Bytes that the client has not taken. */
  readonly waitingBytes: number;
  send(id: string | null, message: SessionMessage): void;
  close(reason: EndReason): void;
}

/** Messages of QoS 1 that a client gets before it has confirmed one. */
const inFlightMax = 100;
/** Beyond this a client is too slow for messages that nobody confirms. */
const waitingBytesMax = 1024 * 1024;
/** Messages that are looked at in one turn. */
const looksMax = 500;

/** Messages to one connection: what its session holds goes down in order, and waits for the client's `ack`. */
export class FrameLink implements ClientLink {
  readonly #state: Pick<SessionState, "outgoing">;
  readonly #options: DeliveryOptions;
  readonly #socket: FrameSocket;
  readonly #meter: Meter;
  readonly #inFlight = new Set<number>();
  /** Settled, while the record of that is on its way to the disk: the session has them until then. */
  readonly #settled = new Set<number>();

  constructor(
    state: Pick<SessionState, "outgoing">,
    options: DeliveryOptions,
    socket: FrameSocket,
    meter: Meter,
  ) {
    this.#state = state;
    this.#options = options;
    this.#socket = socket;
    this.#meter = meter;
  }

  get waitingBytes(): number {
    return this.#socket.waitingBytes;
  }

  deliver(message: SessionMessage): boolean {
    if (this.waitingBytes > waitingBytesMax) {
      addCount(this.#meter.dropped, "slow_reader");
      return false;
    }
    if (!this.#options.isDue(message)) return false;
    this.#socket.send(null, message);
    return true;
  }

  send({ messageID }: Outgoing): void {
    // Its id may have been another's.
    this.#settled.delete(messageID);
    this.resume();
  }

  /** Retained messages of QoS 0, for as long as the client reads. */
  handOver(messages: Iterator<SessionMessage | null>): void {
    for (let next = messages.next(); next.done !== true; next = messages.next()) {
      if (next.value !== null && !this.deliver(next.value)) return;
    }
  }

  /** Sends what the session holds, as much as may be unconfirmed. */
  resume(): void {
    let looks = 0;
    for (const message of this.#state.outgoing.values()) {
      if (this.#inFlight.size >= inFlightMax || ++looks > looksMax) return;
      const { messageID } = message;
      if (this.#inFlight.has(messageID) || this.#settled.has(messageID)) continue;
      if (this.#options.isDue(message)) this.#sendOn(message);
      else this.#settle(messageID, false);
    }
  }

  #sendOn(message: Outgoing): void {
    this.#inFlight.add(message.messageID);
    message.sent = true;
    this.#socket.send(outgoingID(message), message);
  }

  /** The client's receipt; unknown ones are ignored. */
  confirm(id: string): void {
    const message = this.#state.outgoing.get(Number(id.split("-", 1)[0]));
    if (message === undefined || outgoingID(message) !== id) return;
    if (!this.#inFlight.delete(message.messageID)) return;
    this.#settle(message.messageID, true);
    this.resume();
  }

  #settle(messageID: number, acknowledged: boolean): void {
    for (const settled of this.#settled)
      if (!this.#state.outgoing.has(settled)) this.#settled.delete(settled);
    this.#settled.add(messageID);
    this.#options.settle(messageID, acknowledged);
  }

  close(reason: EndReason): void {
    this.#socket.close(reason);
  }
}
