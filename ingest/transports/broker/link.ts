/** One connection to the external broker: it connects, subscribes, and hands over what comes. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { asError } from "../../../store/lib/errors.js";
import type { BrokerEnd } from "../../meter.js";
import { type FrameOwner, Framer } from "../mqtt/codec/framing.js";
import { protocolError, Reader } from "../mqtt/codec/reader.js";
import { createWriteBuffer } from "../mqtt/connection/write-buffer.js";
import {
  type Accepted,
  type BrokerDelivery,
  brokerPacketTypes,
  disconnectPacket,
  encodeConnect,
  pingreq,
  type Rare,
  readAcknowledgement,
  readDelivery,
  readRare,
  subscribePacket,
  unsubscribePacket,
} from "./packets.js";
import {
  type BrokerSettings,
  brokerReceiveMaximum,
  keepAlive,
  packetBytesMax,
  sessionExpiry,
} from "./settings.js";
import { type SilenceWatch, watchSilence } from "./silence.js";
import { ownFilter, sharedFilter } from "./topics.js";

/** Events of a connection to the broker. */
interface LinkEvents {
  /** CONNACK: messages may follow at once. */
  accepted(link: BrokerLink, accepted: Accepted): void;
  /** SUBACK; for a connection that subscribes to nothing, CONNACK. */
  subscribed(): void;
  delivered(delivery: BrokerDelivery): void;
  /** PUBACK of a message of ours. */
  acknowledged(messageID: number, code: number): void;
  /** All packets of one read have been handed over. */
  idle(): void;
  /** Called once. */
  ended(reason: BrokerEnd, text: string): void;
}

/** `connected`: CONNECT has been sent; `accepted`: so has SUBSCRIBE. */
type LinkState = "connecting" | "connected" | "accepted" | "ready" | "ended";

/** One connection to the broker. */
export interface BrokerLink {
  /** Acknowledges a message that came over this connection. */
  acknowledge(messageID: number): void;
  push(bytes: Uint8Array): void;
  flush(): void;
  /** Bytes that the broker has not taken. */
  readonly waitingBytes: number;
  pause(): void;
  resume(): void;
  /** Says DISCONNECT: the session stays. */
  close(): void;
}

const pubackByte = 0x40;
/** Outbound messages leave it free. */
const subscribeID = 65_535;
const takenOver = 0x8e;
const failure = 0x80;

/** Connects and subscribes. Everything that can go wrong comes as `ended`. */
export function openBrokerLink(settings: BrokerSettings, events: LinkEvents): BrokerLink {
  const socket = connect(settings);
  const { shared } = settings;
  const [filter, otherFilter] = shared === true ? [sharedFilter, ownFilter] : [ownFilter, sharedFilter];
  const writeBuffer = createWriteBuffer(socket);
  const framer = new Framer();
  let state: LinkState = "connecting";
  const silence = watchSilence({
    ping: () => {
      writeBuffer.push(pingreq);
      writeBuffer.flush();
    },
    onSilence: end,
  });

  function end(reason: BrokerEnd, text: string): void {
    if (state === "ended") return;
    state = "ended";
    silence.stop();
    writeBuffer.flush();
    socket.end();
    // A peer that does not close its half is cut off.
    setTimeout(() => socket.destroy(), 1000).unref();
    events.ended(reason, text);
  }

  function accept(accepted: Accepted): void {
    state = "accepted";
    silence.keepAlive(accepted.keepAlive ?? keepAlive);
    events.accepted(link, accepted);
    if (shared === null) return ready();
    // An earlier start may have left the other filter in the session.
    if (accepted.sessionPresent) writeBuffer.push(unsubscribePacket(subscribeID, otherFilter));
    writeBuffer.push(subscribePacket(subscribeID, filter));
  }

  function takeRare(packet: Rare): void {
    if (packet.cmd === "connack" && state !== "connected") throw protocolError("a second CONNACK");
    const refusal = findRefusal(packet, filter);
    if (refusal !== null) return end(refusal.reason, refusal.text);
    if (packet.cmd === "connack") return accept(packet);
    if (packet.cmd === "suback") ready();
  }

  function ready(): void {
    silence.answered();
    state = "ready";
    events.subscribed();
  }

  const frames = createFrameOwner(() => state, events, takeRare);

  socket.on("data", (chunk: Buffer) => {
    if (state === "ended") return;
    silence.heard();
    try {
      framer.read(chunk, frames);
    } catch (error) {
      // A fault of ours at one packet ends the connection as well, not the process.
      return end("protocol", `what the broker sends is not understood: ${asError(error).message}`);
    }
    writeBuffer.flush();
    events.idle();
  });
  socket.on("error", (error) => end(state === "connecting" ? "unreachable" : "lost", error.message));
  socket.on("close", () => end("lost", "the connection is lost"));
  socket.once(settings.tls === null ? "connect" : "secureConnect", () => {
    if (state !== "connecting") return;
    state = "connected";
    writeBuffer.push(
      encodeConnect({
        ...settings,
        keepAlive,
        sessionExpiry,
        receiveMaximum: brokerReceiveMaximum,
        packetBytesMax,
      }),
    );
    writeBuffer.flush();
  });

  const link: BrokerLink = {
    ...createReadingPause(socket, silence),
    acknowledge: (messageID) => writeBuffer.acknowledge(pubackByte, messageID),
    push: (bytes) => writeBuffer.push(bytes),
    flush: () => writeBuffer.flush(),
    get waitingBytes() {
      return writeBuffer.waitingBytes;
    },
    close: () => {
      if (state === "accepted" || state === "ready") writeBuffer.push(disconnectPacket);
      end("closed", "");
    },
  };
  return link;
}

/** Pauses the reading of a socket, and with it the watch over its silence; asked twice, it changes nothing. */
function createReadingPause(socket: Socket, silence: SilenceWatch): Pick<BrokerLink, "pause" | "resume"> {
  let isPaused = false;
  return {
    pause: () => {
      if (isPaused) return;
      isPaused = true;
      silence.pause();
      socket.pause();
    },
    resume: () => {
      if (!isPaused) return;
      isPaused = false;
      silence.resume();
      socket.resume();
    },
  };
}

/** Reads the packets of a broker: messages and their acknowledgements by hand, rare packets by the library. */
function createFrameOwner(
  state: () => LinkState,
  events: Pick<LinkEvents, "delivered" | "acknowledged">,
  takeRare: (packet: Rare) => void,
): FrameOwner {
  return {
    frameBytesMax: packetBytesMax,
    strictLengths: true,
    get takesNoMore() {
      return state() === "ended";
    },
    begin: (firstByte) => {
      if (state() === "connected" && firstByte >> 4 !== brokerPacketTypes.connack) {
        throw protocolError("the first packet is no CONNACK");
      }
    },
    frame: (firstByte, bytes, start, stop) => {
      const type = firstByte >> 4;
      if (type === brokerPacketTypes.publish) {
        return events.delivered(readDelivery(firstByte, new Reader(bytes, start, stop)));
      }
      if (type === brokerPacketTypes.puback) {
        const { messageID, code } = readAcknowledgement(new Reader(bytes, start, stop));
        return events.acknowledged(messageID, code);
      }
      if (type !== brokerPacketTypes.pingresp) takeRare(readRare(firstByte, bytes.subarray(start, stop)));
    },
  };
}

function connect({ host, port, tls }: BrokerSettings): Socket {
  if (tls === null) return connectTcp({ host, port, noDelay: true });
  const { ca, cert, key } = tls;
  return connectTls({
    host,
    port,
    minVersion: "TLSv1.2",
    // A name for SNI must not be an address.
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    ...(ca === null ? {} : { ca }),
    ...(cert === null || key === null ? {} : { cert, key }),
  });
}

/** Why the connection ends if the packet refuses something or is a DISCONNECT; otherwise null. */
function findRefusal(packet: Rare, filter: string): { reason: BrokerEnd; text: string } | null {
  if (packet.cmd === "disconnect") {
    const reason = packet.code === takenOver ? "taken_over" : "disconnected";
    return { reason, text: sayCode("the broker disconnects", packet) };
  }
  if (packet.cmd === "connack" && packet.code !== 0) {
    return { reason: "refused", text: sayCode("the broker refuses the connection", packet) };
  }
  if (packet.cmd === "suback" && packet.code >= failure) {
    return { reason: "subscription", text: sayCode(`the broker refuses the subscription ${filter}`, packet) };
  }
  return null;
}

function sayCode(what: string, { code, text }: { readonly code: number; readonly text?: string }): string {
  const number = `0x${code.toString(16).padStart(2, "0")}`;
  return `${what}: ${text ? `${text} (${number})` : number}`;
}
