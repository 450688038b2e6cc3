/** A client's connection that goes on at another process of the cluster: the one that has its device's shard. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Reservation } from "../../../store/lib/reservation.js";
import type { ClientCertificate } from "../../access/credentials.js";

/** Facts for the other process about a client that it does not see itself. */
export interface RelayedClient {
  /** Canonical. */
  readonly address: string;
  /** Whether it has come by TLS. */
  readonly isSecure: boolean;
  readonly certificate: ClientCertificate | null;
}

/** A request that another node answers. */
export interface Forwarded {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: RelayedClient;
  /** Where its body is counted on the way. */
  readonly reservation: Reservation;
  /** The node has let the client in. */
  readonly proved: () => void;
  /** Answers if the node cannot be reached, or ends before it has begun to answer. */
  readonly unreachable: () => void;
}

/** The node that keeps a device. */
interface Keeper {
  /** Null: none does now; it cannot be reached. */
  readonly node: number | null;
  /** The tenant of the device. */
  readonly tenant: number;
}

/** A way for one request, and for what it is upgraded to. */
export interface UpgradeLink {
  readonly link: Socket;
  /** Headers that describe the client to the node. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The other processes of the cluster. */
export interface Neighbours {
  /** Which of them has the device that a client says it is; null: none, for it is here, or there is no such device. */
  keeperOf(username: string | undefined, certificate: ClientCertificate | null): Promise<Keeper | null>;
  /** Opens a way for the bytes of one client of MQTT. @throws Error if the node cannot be reached */
  openRelay(node: number | null, client: RelayedClient): Promise<Duplex>;
  /** Opens a way for the request of one client for a WebSocket. @throws Error if the node cannot be reached */
  openUpgrade(node: number | null, client: RelayedClient): Promise<UpgradeLink>;
  /** Lets the node answer a request. */
  forward(node: number | null, forwarded: Forwarded): void;
  /** Ends links that carry nothing. */
  close(): void;
}

/** A peer that does not close its half is cut off. */
const closeTimeoutMs = 2000;

/** Passes all bytes on in both directions, each side at the other's pace, until either ends: then both do. */
export function join(client: Duplex, relay: Duplex): void {
  for (const [one, other] of [
    [client, relay],
    [relay, client],
  ] as const) {
    passOn(one, other);
    one.on("error", () => undefined);
    if (one.destroyed) part(other);
    else one.once("close", () => part(other));
  }
}

/** As `pipe` does; but what waits for a peer that does not read holds no more memory than its own bytes. */
function passOn(from: Duplex, to: Duplex): void {
  from.on("data", (piece: Buffer) => {
    if (to.writable && !to.write(to.writableLength === 0 ? piece : alone(piece))) from.pause();
  });
  from.once("end", () => {
    if (to.writable) to.end();
  });
  to.on("drain", () => from.resume());
  from.resume();
}

/** The bytes in memory of their own, if what they stand in is much larger: it is kept as long as any part of it. */
export function alone(piece: Buffer): Buffer {
  if (piece.length * 2 > piece.buffer.byteLength) return piece;
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}

/** Ends the stream: pending data still goes out, and what comes in is discarded. */
export function part(stream: Duplex): void {
  if (stream.destroyed) return;
  stream.resume();
  stream.end();
  const cutOff = setTimeout(() => stream.destroy(), closeTimeoutMs).unref();
  stream.once("close", () => clearTimeout(cutOff));
}
