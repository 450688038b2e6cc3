import type { Socket } from "node:net";
import { createServer, type SecureContextOptions, type TLSSocket, type TlsOptions } from "node:tls";
import { addressBlock } from "../../access/address-block.js";
import type { ClientCertificate } from "../../access/credentials.js";
import { addCount, type HandshakeFailure, type Meter } from "../../meter.js";
import { helloBytesMax, lookAtHello } from "./client-hello.js";
import { lookAtFirstBytes } from "./first-bytes.js";
import { createHandshakeSemaphore } from "./handshake-semaphore.js";
import type { IncomingSocket } from "./incoming-socket.js";

/** optional: one that no authority we believe has signed counts as none. */
export type ClientCertificates = "none" | "optional" | "required";

/** `compatible`: also those of OpenSSL that encrypt and authenticate in two steps (CBC), or work without ECDHE. */
type TlsSuites = "aead" | "compatible";

/** All of TLS 1.3; of TLS 1.2 those with ephemeral keys that authenticate what they encrypt (RFC 9325 §4.2). */
const aeadSuites = [
  ...["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"],
  ...["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  ...["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
  ...["ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
  ...["ECDHE-ECDSA-AES128-CCM", "ECDHE-ECDSA-AES256-CCM"],
];

/** The certificates of a TLS listener, and the authorities that it trusts; texts are PEM. */
export interface TlsIdentity {
  /** The server's certificates, each with those between it and its root; of several, one of each kind of key. */
  readonly certificates: readonly { readonly cert: string; readonly key: string }[];
  /** Authorities whose client certificates a mutual listener takes. */
  readonly trusted: readonly string[];
}

export interface TlsOffer {
  readonly identity: TlsIdentity;
  /** Whether a client is asked for a certificate, and whether it must have one. */
  readonly certificates: ClientCertificates;
  readonly suites: TlsSuites;
  readonly meter: Meter;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  /** Handshakes at once. */
  readonly atOnce?: number;
  /** Offered by ALPN (RFC 7301), by preference; absent: ALPN is not used. */
  readonly protocols?: readonly string[];
}

/** TLS on sockets that were accepted without reading from them. */
export interface TlsLayer {
  accept(socket: Socket, incoming: IncomingSocket): void;
  /** For handshakes from now on; connections stay as they are. @throws Error if OpenSSL does not take it */
  renew(identity: TlsIdentity): void;
  /** Cuts off handshakes that take too long. */
  sweep(): void;
}

/** Handshakes at once: one holds about 40 KB, and fewer at a time end sooner than all of them together. */
const handshakesMax = 1000;
/** For the ClientHello from the first moment, and for the handshake from its turn, whatever comes meanwhile. */
export const handshakeTimeoutMs = 10_000;
/** What a handshake has from its turn on, while addresses with fewer handshakes wait for theirs. */
export const pressedTimeoutMs = 3000;

interface Handshake {
  readonly socket: Socket;
  /** As `formatEnds` returns them. */
  readonly ends: string;
  readonly incoming: IncomingSocket;
  /** The address that it is counted for. */
  readonly address: string;
  /** When it came; when its turn began. Milliseconds, monotonic. */
  since: number;
  /** Its ClientHello has come and its turn has begun. */
  begun: boolean;
  readonly ended: () => void;
  /** While it waits for its turn: nobody has more to say than its ClientHello. */
  readonly watch: () => void;
}

/** `next` takes each socket whose handshake is done. */
export function createTlsLayer(
  { identity, certificates, suites, meter, monotonic, atOnce = handshakesMax, protocols }: TlsOffer,
  next: (socket: TLSSocket, incoming: IncomingSocket, certificate: ClientCertificate | null) => void,
): TlsLayer {
  const handshakes = new Set<Handshake>();
  const byEnds = new Map<string, Handshake>();
  const asks = certificates !== "none";
  const server = createServer({
    ...createTlsContext(identity, asks, suites),
    ...demands(asks),
    ...(protocols === undefined ? {} : { ALPNProtocols: [...protocols] }),
  });
  const semaphore = createHandshakeSemaphore<Handshake>(atOnce, (handshake) => {
    handshake.since = monotonic();
    handshake.begun = true;
    handshake.socket.off("readable", handshake.watch);
    server.emit("connection", handshake.socket);
  });

  function find(socket: Socket): Handshake | undefined {
    const ends = formatEnds(socket);
    return ends === null ? undefined : byEnds.get(ends);
  }

  function leave(handshake: Handshake): void {
    handshakes.delete(handshake);
    // Its peer may have come again from the same port, before we heard that this one is gone.
    if (byEnds.get(handshake.ends) === handshake) byEnds.delete(handshake.ends);
    handshake.socket.off("close", handshake.ended);
    meter.handshakesPending--;
    semaphore.leave(handshake);
  }

  function fail(handshake: Handshake, failure: HandshakeFailure): void {
    handshake.incoming.failure = failure;
    handshake.socket.destroy();
  }

  server.on("secureConnection", (socket) => {
    const handshake = find(socket);
    if (handshake === undefined) return void socket.destroy();
    let certificate: ClientCertificate | null = null;
    try {
      if (asks) certificate = readClientCertificate(socket);
    } catch {
      // A certificate that OpenSSL takes and Node cannot read authenticates nobody.
    }
    if (certificates === "required" && certificate === null) {
      handshake.incoming.failure = "certificate";
      return void socket.destroy();
    }
    leave(handshake);
    next(socket, handshake.incoming, certificate);
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    const handshake = find(socket);
    if (handshake !== undefined && error.code !== "ECONNRESET") handshake.incoming.failure = "tls";
    socket.destroy();
  });

  return {
    accept: (socket, incoming) => {
      const ends = formatEnds(socket);
      if (ends === null) {
        addCount(meter.handshakesFailed, "lost");
        return void socket.destroy();
      }
      const address = addressBlock(incoming.address);
      const ended = (): void => {
        addCount(meter.handshakesFailed, incoming.failure);
        leave(handshake);
      };
      const watch = (): void => {
        if (socket.readableLength > helloBytesMax) fail(handshake, "tls");
      };
      const begin = { since: monotonic(), begun: false };
      const handshake: Handshake = { socket, ends, incoming, address, ...begin, ended, watch };
      handshakes.add(handshake);
      byEnds.set(ends, handshake);
      meter.handshakesPending++;
      socket.once("close", ended);
      socket.on("error", ignore);
      // A client that has not sent its ClientHello holds no place.
      const look = (bytes: Buffer): number | null => {
        const hello = lookAtHello(bytes);
        if (hello === "bad") fail(handshake, "tls");
        return hello === "more" ? null : 0;
      };
      lookAtFirstBytes(socket, look, () => {
        if (!semaphore.enter(handshake)) socket.on("readable", watch);
      });
    },
    renew: (renewed) => server.setSecureContext(createTlsContext(renewed, asks, suites)),
    sweep: () => {
      const now = monotonic();
      const { leastHeld } = semaphore;
      for (const handshake of handshakes) {
        const { address, since, begun } = handshake;
        // Slow ones stay as long as no address with fewer waits: NATs and far networks are no attack.
        const isPressed = begun && semaphore.held(address) > leastHeld;
        if (now - since >= (isPressed ? pressedTimeoutMs : handshakeTimeoutMs)) fail(handshake, "timeout");
      }
    },
  };
}

/** 'close' follows, and is what counts. */
function ignore(): void {}

function createTlsContext(
  { certificates, trusted }: TlsIdentity,
  asks: boolean,
  suites: TlsSuites,
): SecureContextOptions {
  return {
    cert: certificates.map(({ cert }) => cert),
    key: certificates.map(({ key }) => key),
    minVersion: "TLSv1.2",
    ...(suites === "aead" ? { ciphers: aeadSuites.join(":") } : {}),
    // CA_CERT may be an intermediate whose root nobody has given us.
    ...(asks ? { ca: [...trusted], allowPartialTrustChain: true } : {}),
  };
}

/** We look at bad certificates ourselves, so that their owners find them in the connect log. */
function demands(asks: boolean): TlsOptions {
  // A session of one listener means nothing to another: each has ticket keys of its own.
  return asks ? { requestCert: true, rejectUnauthorized: false } : {};
}

/**
 * Node does not show which socket a TLS socket runs over; the addresses and ports of both ends do. A peer may use one
 * port of its own for several of ours. Null for a socket that is gone already.
 */
function formatEnds({ remoteAddress, remotePort, localAddress, localPort }: Socket): string | null {
  return remoteAddress === undefined ? null : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/** CONNECT judges the dates, because it knows whose the certificate is. */
const dateErrors = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);

/** The client's certificate; null if none came, or none that an authority we believe has signed. */
function readClientCertificate(socket: TLSSocket): ClientCertificate | null {
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
