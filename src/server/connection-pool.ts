import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Admission, Admitted } from "../../ingest/access/admission.js";
import type { ClientCertificate } from "../../ingest/access/credentials.js";
import { addCount, type HttpEndReason, type Meter } from "../../ingest/meter.js";
import type { IncomingSocket } from "../../ingest/transports/sockets/incoming-socket.js";
import type { RequestBudget } from "../http/request-budget.js";
import { HttpConnection, type HttpTimes } from "./http-connection.js";
import type { RequestScheduler } from "./request-scheduler.js";
import type { Unread } from "./unread-bodies.js";

/** The open connections, with or without TLS. */
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
  readonly requests: RequestBudget;
  readonly turns: RequestScheduler;
  /** The prefix of paths behind a proxy; empty: none. */
  readonly basePath: string;
  readonly http1: Server;
}

export function createConnectionPool(deps: ConnectionPoolDeps): ConnectionPool {
  const { meter, monotonic, admission, times, unread, requests, turns, basePath, http1 } = deps;
  const open = new Set<HttpConnection>();
  const ended = (reason: HttpEndReason) => addCount(meter.httpEnded, reason);
  const common = {
    monotonic,
    requests,
    turns,
    basePath,
    onBegun: (connection: HttpConnection) => void http1.emit("connection", connection),
    onGivenWay: () => ended("gave_way"),
    onUnheld: () => ended("held_bytes"),
  };

  function begin(connection: HttpConnection): void {
    open.add(connection);
    meter.httpConnections++;
    connection.once("close", () => {
      open.delete(connection);
      meter.httpConnections--;
    });
  }

  /** What the admission of the socket may ask of what it has become. */
  function attach(incoming: IncomingSocket, connection: HttpConnection): void {
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
      const { address } = incoming;
      const onProven = (_: HttpConnection, tenant: number): void => incoming.prove(tenant);
      const connection = new HttpConnection(socket, { ...common, onProven }, { address, certificate });
      attach(incoming, connection);
      begin(connection);
    },
    check: () => {
      for (const connection of open) {
        const due = connection.overdue(times);
        if (due === null) continue;
        ended("timeout");
        if (due === "tell") unread.late(connection);
        else connection.destroy();
      }
    },
    closeIdle: () => {
      for (const connection of open) if (connection.isIdle) connection.destroy();
    },
    destroy: () => {
      for (const connection of open) connection.destroy();
    },
  };
}
