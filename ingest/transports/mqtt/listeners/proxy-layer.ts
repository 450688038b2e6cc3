import type { Socket } from "node:net";
import type { Proxies } from "../../../access/proxies.js";
import { count, type HandshakeFailure, type Meter } from "../../../meter.js";
import type { Visitor } from "../connection/visitor.js";
import { lookAtFirstBytes } from "./first-bytes.js";
import { readProxyHeader } from "./proxy-header.js";
import { handshakeTimeoutMs } from "./tls.js";

/** Whether trusted proxies tell their clients' addresses by the PROXY protocol. */
export type ProxyProtocol = "optional" | "required" | "off";

/** Finds out whose connection it is. Nobody but a trusted proxy is asked for a header. */
interface ProxyLayer {
  accept(socket: Socket, visitor: Visitor): void;
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
  readonly visitor: Visitor;
}

/** `next` takes each socket, its visitor with the address of its client, from the first byte behind the header. */
export function createProxyLayer(
  { proxies, protocol, meter, monotonic }: ProxyLayerDeps,
  next: (socket: Socket, visitor: Visitor) => void,
): ProxyLayer {
  const handshakes = new Map<Socket, Handshake>();

  function end(socket: Socket, failure: HandshakeFailure): void {
    const handshake = handshakes.get(socket);
    if (handshake !== undefined) handshake.visitor.failure = failure;
    socket.destroy();
  }

  function ended(this: Socket): void {
    const handshake = handshakes.get(this);
    if (handshake === undefined) return;
    leave(this);
    count(meter.handshakesFailed, handshake.visitor.failure);
  }

  function leave(socket: Socket): void {
    handshakes.delete(socket);
    socket.off("close", ended);
    meter.handshakesPending--;
  }

  function ask(socket: Socket, visitor: Visitor): void {
    handshakes.set(socket, { since: monotonic(), visitor });
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
        if (header.client !== null) visitor.comesFrom(header.client);
        return header.length;
      },
      () => {
        leave(socket);
        next(socket, visitor);
      },
    );
  }

  return {
    accept: (socket, visitor) => {
      if (protocol === "off" || !proxies.trusts(visitor.address)) next(socket, visitor);
      else ask(socket, visitor);
    },
    sweep: () => {
      const latest = monotonic() - handshakeTimeoutMs;
      for (const [socket, { since }] of handshakes) if (since <= latest) end(socket, "timeout");
    },
  };
}

/** 'close' follows, and is what counts. */
function ignore(): void {}
