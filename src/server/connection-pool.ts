import type { Server } from "node:http";
import type { Http2Server, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { addressBlock } from "../../ingest/access/address-block.js";
import type { Admission, Admitted } from "../../ingest/access/admission.js";
import type { ClientCertificate } from "../../ingest/access/credentials.js";
import { count, type HttpEndReason, type Meter } from "../../ingest/meter.js";
import type { IncomingSocket } from "../../ingest/transports/sockets/incoming-socket.js";
import { createShares, type Shares } from "../../store/lib/shares.js";
import { type Holder, HttpConnection, type HttpTimes } from "./http-connection.js";
import { Http2Connection } from "./http2-connection.js";
import type { Unread } from "./unread.js";

/** The open connections, of both versions of HTTP, with or without TLS. */
interface ConnectionPool {
  takePlain(socket: Socket): void;
  /** After the handshake of TLS. */
  takeSecure(socket: TLSSocket, incoming: IncomingSocket, certificate: ClientCertificate | null): void;
  /** Ends those that are late. */
  check(): void;
  /** Ends those on which nothing is under way; the others end with it. */
  closeIdle(): void;
  destroy(): void;
}

interface ConnectionPoolDeps {
  readonly meter: Meter;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly admission: Admission<Admitted>;
  readonly times: HttpTimes;
  readonly unread: Unread;
  readonly http1: Server;
  readonly http2: Http2Server;
  /** By their sessions, those of HTTP/2. */
  readonly sessions: WeakMap<ServerHttp2Session, Http2Connection>;
}

/**
 * Bytes held of requests that have not arrived whole, and of those that follow an unanswered one: for all
 * unauthenticated connections, shared by addresses, and for all others, shared by tenants.
 */
const heldBytesMax = { unauthenticated: 16 * 1024 * 1024, callers: 32 * 1024 * 1024 } as const;

export function createConnectionPool(deps: ConnectionPoolDeps): ConnectionPool {
  const { meter, monotonic, admission, times, unread, http1, http2, sessions } = deps;
  const held = {
    unauthenticated: createShares<string>(heldBytesMax.unauthenticated),
    callers: createShares<number>(heldBytesMax.callers),
  };
  const single = new Set<HttpConnection>();
  const multiplexed = new Set<Http2Connection>();
  const ended = (reason: HttpEndReason) => count(meter.httpEnded, reason);
  const common = {
    monotonic,
    onGivenWay: () => ended("gave_way"),
    hold: (holder: Holder, bytes: number): boolean =>
      "tenant" in holder
        ? change(held.callers, holder.tenant, bytes)
        : change(held.unauthenticated, addressBlock(holder.address), bytes),
    onUnheld: () => ended("held_bytes"),
  };

  function begin(connection: HttpConnection): void {
    single.add(connection);
    meter.httpConnections++;
    connection.once("close", () => {
      single.delete(connection);
      meter.httpConnections--;
    });
    http1.emit("connection", connection);
  }

  /** What the admission of the socket may ask of what it has become. */
  function attach(incoming: IncomingSocket, connection: HttpConnection | Http2Connection): void {
    incoming.attach({
      get isKnown() {
        return !connection.isIdle;
      },
      end: () => {
        ended("gave_way");
        connection.destroy();
      },
    });
  }

  function takeMultiplexed(
    socket: TLSSocket,
    incoming: IncomingSocket,
    certificate: ClientCertificate | null,
  ): void {
    // Told of while the socket is given over.
    http2.once("session", (session) => {
      const { address, prove } = incoming;
      const connection = new Http2Connection(session, socket, address, certificate, {
        monotonic,
        onProven: (tenant) => prove.call(incoming, tenant),
      });
      sessions.set(session, connection);
      multiplexed.add(connection);
      meter.httpConnections++;
      attach(incoming, connection);
      session.once("close", () => {
        multiplexed.delete(connection);
        meter.httpConnections--;
      });
    });
    http2.emit("connection", socket);
  }

  return {
    takePlain: (socket) => {
      const connection = new HttpConnection(socket, { ...common, onProven: admission.prove });
      if (!admission.enter(connection)) {
        ended("full");
        return void connection.destroy();
      }
      connection.once("close", () => admission.leave(connection));
      begin(connection);
    },
    takeSecure: (socket, incoming, certificate) => {
      if (socket.alpnProtocol === "h2") return takeMultiplexed(socket, incoming, certificate);
      const { address } = incoming;
      const onProven = (_: HttpConnection, tenant: number): void => incoming.prove(tenant);
      const connection = new HttpConnection(socket, { ...common, onProven }, { address, certificate });
      attach(incoming, connection);
      begin(connection);
    },
    check: () => {
      for (const connection of single) {
        const due = connection.overdue(times);
        if (due === null) continue;
        ended("timeout");
        if (due === "tell") unread.late(connection);
        else connection.destroy();
      }
      for (const connection of multiplexed) {
        if (!connection.checkTimes(times)) continue;
        ended("timeout");
        connection.destroy();
      }
    },
    closeIdle: () => {
      for (const connection of single) if (connection.isIdle) connection.destroy();
      for (const connection of multiplexed) connection.close();
    },
    destroy: () => {
      for (const connection of [...single, ...multiplexed]) connection.destroy();
    },
  };
}

/** @param bytes the change; negative to shrink */
function change<Name>(shares: Shares<Name>, name: Name, bytes: number): boolean {
  if (bytes > 0) return shares.take(name, bytes);
  shares.give(name, -bytes);
  return true;
}
