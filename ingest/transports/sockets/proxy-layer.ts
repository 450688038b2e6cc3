import type { Socket } from "node:net";
import type { Proxies } from "../../access/proxies.js";
import { addCount, type HandshakeFailure, type Meter } from "../../meter.js";
import { lookAtFirstBytes } from "./first-bytes.js";
import type { IncomingSocket } from "./incoming-socket.js";
import { readProxyHeader } from "./proxy-header.js";
import { handshakeTimeoutMs } from "./tls.js";

/** Whether trusted proxies give their clients' addresses by the PROXY protocol. */
export type ProxyProtocol = "optional" | "required" | "off";

/** Finds out whose connection it is. Only a trusted proxy is asked for a header. */
interface ProxyLayer {
  accept(socket: Socket, incoming: IncomingSocket): void;
  /** Cuts off those that take too long to say. */
  sweep(): void;
}

interface ProxyLayerDeps {
  readonly proxies: Proxies;
  readonly protocol: ProxyProtocol;
  readonly meter: Meter;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

interface Handshake {
  readonly since: number;
  readonly incoming: IncomingSocket;
}

/** `next` takes each socket from the first byte after the header, with the address of its client. */
export function createProxyLayer(
  { proxies, protocol, meter, monotonic }: ProxyLayerDeps,
  next: (socket: Socket, incoming: IncomingSocket) => void,
): ProxyLayer {
  const handshakes = new Map<Socket, Handshake>();

  function end(socket: Socket, failure: HandshakeFailure): void {
    const handshake = handshakes.get(socket);
    if (handshake !== undefined) handshake.incoming.failure = failure;
    socket.destroy();
  }

  function ended(this: Socket): void {
    const handshake = handshakes.get(this);
    if (handshake === undefined) return;
    leave(this);
    addCount(meter.handshakesFailed, handshake.incoming.failure);
  }

  function leave(socket: Socket): void {
    handshakes.delete(socket);
    socket.off("close", ended);
    meter.handshakesPending--;
  }

  function ask(socket: Socket, incoming: IncomingSocket): void {
    handshakes.set(socket, { since: monotonic(), incoming });
    meter.handshakesPending++;
    socket.once("close", ended);
    socket.on("error", ignore);
    lookAtFirstBytes(
      socket,
      (bytes) => {
        const header = readProxyHeader(bytes);
        if (header === "more") return null;
        if (header === "bad" || (header === "none" && protocol === "required")) end(socket, "proxy");
        if (typeof header === "string") return 0;
        if (header.client !== null) incoming.setAddress(header.client);
        return header.length;
      },
      () => {
        leave(socket);
        next(socket, incoming);
      },
    );
  }

  return {
    accept: (socket, incoming) => {
      if (protocol === "off" || !proxies.trusts(incoming.address)) next(socket, incoming);
      else ask(socket, incoming);
    },
    sweep: () => {
      const latest = monotonic() - handshakeTimeoutMs;
      for (const [socket, { since }] of handshakes) if (since <= latest) end(socket, "timeout");
    },
  };
}

/** 'close' follows, and is what counts. */
function ignore(): void {}
