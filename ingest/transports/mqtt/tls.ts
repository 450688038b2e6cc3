import type { Socket } from "node:net";
import { createServer, type SecureContextOptions, type TLSSocket, type TlsOptions } from "node:tls";
import type { ClientCertificate } from "../../credentials.js";
import { count, type HandshakeFailure, type Meter } from "../../meter.js";
import { createTurnstile } from "./turnstile.js";

/** What a TLS listener proves itself with, and whom it believes; texts are PEM. */
export interface TlsIdentity {
  /** The server's certificate, with those between it and its root. */
  readonly cert: string;
  readonly key: string;
  /** Authorities whose client certificates a mutual listener takes. */
  readonly trusted: readonly string[];
}

export interface TlsOffer {
  readonly identity: TlsIdentity;
  /** Every client must prove itself with a certificate. */
  readonly mutual: boolean;
  readonly meter: Meter;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

/** TLS on sockets that were accepted without reading from them. */
export interface TlsLayer {
  accept(socket: Socket): void;
  /** For handshakes from now on; connections stay as they are. @throws Error when OpenSSL does not take it */
  renew(identity: TlsIdentity): void;
  /** Cuts off handshakes that take too long. */
  sweep(): void;
}

/** Handshakes at once: one holds some 40 KB, and fewer at a time end sooner than all of them together. */
const handshakesMax = 1000;
export const handshakeTimeoutMs = 10_000;

interface Handshake {
  readonly socket: Socket;
  /** When it came; when its turn began. Milliseconds, monotonic. */
  since: number;
  failure: HandshakeFailure;
  readonly ended: () => void;
}

/** `next` takes each socket whose handshake is done. */
export function createTlsLayer(
  { identity, mutual, meter, monotonic }: TlsOffer,
  next: (socket: TLSSocket, certificate: ClientCertificate | null) => void,
): TlsLayer {
  const handshakes = new Map<string, Handshake>();
  const server = createServer({ ...contextOf(identity, mutual), ...demands(mutual) });
  const turnstile = createTurnstile<Handshake>(handshakesMax, (handshake) => {
    handshake.since = monotonic();
    server.emit("connection", handshake.socket);
  });

  function find(socket: Socket): [string, Handshake] | null {
    const peer = peerOf(socket);
    const handshake = peer === null ? undefined : handshakes.get(peer);
    return peer === null || handshake === undefined ? null : [peer, handshake];
  }

  function leave(peer: string, handshake: Handshake): void {
    handshakes.delete(peer);
    handshake.socket.off("close", handshake.ended);
    meter.handshakesPending--;
    turnstile.leave(handshake);
  }

  server.on("secureConnection", (socket) => {
    const [peer, handshake] = find(socket) ?? [];
    if (peer === undefined || handshake === undefined) return void socket.destroy();
    let certificate: ClientCertificate | null = null;
    try {
      if (mutual) certificate = certificateOf(socket);
    } catch {
      // One that OpenSSL takes and Node cannot read proves nothing.
    }
    if (mutual && certificate === null) {
      handshake.failure = "certificate";
      return void socket.destroy();
    }
    leave(peer, handshake);
    next(socket, certificate);
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    const [, handshake] = find(socket) ?? [];
    if (handshake !== undefined && error.code !== "ECONNRESET") handshake.failure = "tls";
    socket.destroy();
  });

  return {
    accept: (socket) => {
      const peer = peerOf(socket);
      if (peer === null) return void socket.destroy();
      const ended = (): void => {
        count(meter.handshakesFailed, handshake.failure);
        leave(peer, handshake);
      };
      const handshake: Handshake = { socket, since: monotonic(), failure: "lost", ended };
      handshakes.set(peer, handshake);
      meter.handshakesPending++;
      socket.once("close", ended);
      socket.on("error", ignore);
      turnstile.enter(handshake);
    },
    renew: (renewed) => server.setSecureContext(contextOf(renewed, mutual)),
    sweep: () => {
      const latest = monotonic() - handshakeTimeoutMs;
      for (const handshake of handshakes.values()) {
        if (handshake.since > latest) continue;
        handshake.failure = "timeout";
        handshake.socket.destroy();
      }
    },
  };
}

/** 'close' follows, and is what counts. */
function ignore(): void {}

export function contextOf({ cert, key, trusted }: TlsIdentity, mutual: boolean): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: "TLSv1.2",
    // CA_CERT may be an intermediate whose root nobody has given us.
    ...(mutual ? { ca: [...trusted], allowPartialTrustChain: true } : {}),
  };
}

/** A certificate that is not good is looked at by us, so that its owner reads of it in the connect log. */
function demands(mutual: boolean): TlsOptions {
  // A session of one listener means nothing to another: each has ticket keys of its own.
  return mutual ? { requestCert: true, rejectUnauthorized: false } : {};
}

/** Node does not tell which socket a TLS socket runs over; the peer's address and port do. */
function peerOf({ remoteAddress, remotePort }: Socket): string | null {
  return remoteAddress === undefined ? null : `${remoteAddress} ${remotePort}`;
}

/** Their dates are for CONNECT to judge, which knows whose they are. */
const dateErrors = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);

/** The client's certificate, unless none came or no authority that we believe has signed it. */
function certificateOf(socket: TLSSocket): ClientCertificate | null {
  // Typed as an Error, in fact OpenSSL's code.
  const problem = socket.authorizationError as unknown as string | null | undefined;
  if (!socket.authorized && !dateErrors.has(String(problem))) return null;
  const found = socket.getPeerX509Certificate();
  if (found === undefined) return null;
  return {
    fingerprint: found.fingerprint256.replaceAll(":", "").toLowerCase(),
    validFrom: Date.parse(found.validFrom),
    validTo: Date.parse(found.validTo),
  };
}
