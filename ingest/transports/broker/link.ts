import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { asError } from "../../../store/lib/errors.js";
import { type FrameOwner, Framer } from "../mqtt/codec/framing.js";
import { protocolError, Reader } from "../mqtt/codec/reader.js";
import { createWriteBuffer } from "../mqtt/connection/write-buffer.js";
import {
  type Accepted,
  connectPacket,
  type Delivery,
  disconnect,
  packetTypes,
  pingreq,
  type Rare,
  readAcknowledgement,
  readDelivery,
  readRare,
  subscribePacket,
  unsubscribePacket,
} from "./packets.js";
import { type BrokerSettings, keepAlive, packetBytesMax, receiveMaximum, sessionExpiry } from "./settings.js";
import { ownFilter, sharedFilter } from "./topics.js";

/** Why a connection to the broker has ended; labels of `tidemark_broker_connections_ended_total`. */
export type LinkEnd =
  | "unreachable" // no connection, or no TLS
  | "refused" // CONNACK says no
  | "subscription" // SUBACK says no
  | "disconnected" // the broker says so
  | "taken_over" // another client has our client id
  | "lost" // the socket closed
  | "keep_alive" // nothing was heard
  | "timeout" // the broker did not answer CONNECT and SUBSCRIBE
  | "protocol" // what came is no MQTT
  | "closed"; // by us

/** What a connection to the broker tells its owner. */
interface LinkEvents {
  /** CONNACK: messages may follow at once. */
  accepted(link: Link, accepted: Accepted): void;
  /** SUBACK. */
  subscribed(): void;
  delivered(delivery: Delivery): void;
  /** PUBACK of a message of ours. */
  acknowledged(messageID: number, code: number): void;
  /** All packets of one read have been handed over. */
  idle(): void;
  /** Called once. */
  ended(reason: LinkEnd, text: string): void;
}

/** One connection to the broker. */
export interface Link {
  /** Of a message that came down this connection. */
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
const answerMsMax = 10_000;
/** Outbound messages leave it free. */
const subscribeID = 65_535;
const takenOver = 0x8e;
const failure = 0x80;

/** Connects and subscribes. Everything that can go wrong comes as `ended`. */
export function openLink(settings: BrokerSettings, events: LinkEvents): Link {
  const socket = connect(settings);
  const [filter, otherFilter] = settings.shared ? [sharedFilter, ownFilter] : [ownFilter, sharedFilter];
  const outbox = createWriteBuffer(socket);
  const framer = new Framer();
  let state: "connecting" | "accepted" | "ready" | "ended" = "connecting";
  let isConnected = false;
  let isPaused = false;
  let heardAt = performance.now();
  let pings: NodeJS.Timeout | undefined;
  let answer = setTimeout(giveUp, answerMsMax);

  function giveUp(): void {
    // Silence counts only while we listen.
    if (isPaused) answer = setTimeout(giveUp, answerMsMax);
    else end("timeout", "the broker does not answer");
  }

  function end(reason: LinkEnd, text: string): void {
    if (state === "ended") return;
    state = "ended";
    clearTimeout(answer);
    clearInterval(pings);
    outbox.flush();
    socket.end();
    // A peer that never closes its half is cut off.
    setTimeout(() => socket.destroy(), 1000).unref();
    events.ended(reason, text);
  }

  function watch(seconds: number): void {
    if (seconds === 0) return;
    pings = setInterval(() => {
      if (isPaused) heardAt = performance.now();
      if (performance.now() - heardAt > seconds * 1500)
        return end("keep_alive", "nothing is heard of the broker");
      outbox.push(pingreq);
      outbox.flush();
    }, seconds * 500);
  }

  function accept(accepted: Accepted): void {
    if (state !== "connecting") throw protocolError("a second CONNACK");
    if (accepted.code !== 0) return end("refused", sayCode("the broker refuses the connection", accepted));
    state = "accepted";
    watch(accepted.keepAlive ?? keepAlive);
    events.accepted(link, accepted);
    // An earlier start may have left the other one in the session.
    if (accepted.sessionPresent) outbox.push(unsubscribePacket(subscribeID, otherFilter));
    outbox.push(subscribePacket(subscribeID, filter));
  }

  function takeRare(packet: Rare): void {
    if (packet.cmd === "connack") return accept(packet);
    if (packet.cmd === "unsuback") return;
    if (packet.cmd === "disconnect") {
      return end(
        packet.code === takenOver ? "taken_over" : "disconnected",
        sayCode("the broker disconnects", packet),
      );
    }
    if (packet.code >= failure) {
      return end("subscription", sayCode(`the broker refuses the subscription ${filter}`, packet));
    }
    clearTimeout(answer);
    state = "ready";
    events.subscribed();
  }

  const owner: FrameOwner = {
    frameBytesMax: packetBytesMax,
    strictLengths: true,
    get takesNoMore() {
      return state === "ended";
    },
    begin: (firstByte) => {
      if (state === "connecting" && firstByte >> 4 !== packetTypes.connack) {
        throw protocolError("the first packet is no CONNACK");
      }
    },
    frame: (firstByte, bytes, start, stop) => {
      const type = firstByte >> 4;
      if (type !== packetTypes.publish && type !== packetTypes.puback) {
        if (type === packetTypes.pingresp) return;
        return takeRare(readRare(firstByte, bytes.subarray(start, stop)));
      }
      const reader = new Reader(bytes, start, stop);
      if (type === packetTypes.publish) return events.delivered(readDelivery(firstByte, reader));
      const { messageID, code } = readAcknowledgement(reader);
      events.acknowledged(messageID, code);
    },
  };

  socket.on("data", (chunk: Buffer) => {
    if (state === "ended") return;
    heardAt = performance.now();
    try {
      framer.read(chunk, owner);
    } catch (error) {
      // A fault of ours at one packet ends the connection as well, not the process.
      return end("protocol", `what the broker sends is not understood: ${asError(error).message}`);
    }
    outbox.flush();
    events.idle();
  });
  socket.on("error", (error) => end(isConnected ? "lost" : "unreachable", error.message));
  socket.on("close", () => end("lost", "the connection is lost"));
  socket.once(settings.tls === null ? "connect" : "secureConnect", () => {
    isConnected = true;
    outbox.push(connectPacket({ ...settings, keepAlive, sessionExpiry, receiveMaximum, packetBytesMax }));
    outbox.flush();
  });

  const link: Link = {
    acknowledge: (messageID) => outbox.acknowledge(pubackByte, messageID),
    push: (bytes) => outbox.push(bytes),
    flush: () => outbox.flush(),
    get waitingBytes() {
      return outbox.waitingBytes;
    },
    pause: () => {
      if (isPaused) return;
      isPaused = true;
      socket.pause();
    },
    resume: () => {
      if (!isPaused) return;
      isPaused = false;
      heardAt = performance.now();
      socket.resume();
    },
    close: () => {
      if (state === "accepted" || state === "ready") outbox.push(disconnect);
      end("closed", "");
    },
  };
  return link;
}

function connect({ host, port, tls }: BrokerSettings): Socket {
  if (tls === null) return connectTcp({ host, port, noDelay: true });
  const { ca, cert, key } = tls;
  return connectTls({
    ...{ host, port, minVersion: "TLSv1.2" },
    // A name for SNI must not be an address.
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    ...(ca === null ? {} : { ca }),
    ...(cert === null || key === null ? {} : { cert, key }),
  });
}

function sayCode(what: string, { code, text }: { readonly code: number; readonly text?: string }): string {
  const number = `0x${code.toString(16).padStart(2, "0")}`;
  return `${what}: ${text ? `${text} (${number})` : number}`;
}
