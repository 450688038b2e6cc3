/** Where the other nodes of the cluster reach this one. */
import { constants, randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect, createServer, type TLSSocket } from "node:tls";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import type { ClusterSettings } from "../config/cluster.js";
import { ConfigError } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import { aliveMs, linkKey, linkOptions, linkProtocols, linkSuites } from "./secret.js";
import { takeSharedLinks } from "./shared-links.js";

export interface ClusterListener {
  /** Takes no more links; those that are open stay. */
  stop(): void;
  close(): Promise<void>;
}

interface ListenerDeps {
  readonly settings: ClusterSettings;
  readonly log: Logger;
  /** Links at once, each of which has a descriptor. */
  readonly linksMax: number;
  /** Called with each link by which a node asks for something. */
  onLink(node: number, socket: Socket): void;
  /** Goes on with a client of MQTT that another node passes on. */
  onMqtt(stream: Duplex, client: RelayedClient): void;
  /** Goes on with requests that another node passes on. */
  onHttp(socket: Socket): void;
  /** Goes on with a node's own calls. */
  onCalls(socket: Socket): void;
  /** Goes on with a node that listens to what happens here. */
  onLive(socket: Socket): void;
}

/** A node that comes says within this time who it is, and whom it brings. */
const helloTimeoutMs = 5000;
const backlog = 4096;

/** @throws ConfigError if the address is not available */
export async function listenCluster(deps: ListenerDeps): Promise<ClusterListener> {
  const { settings, log, onLink, onMqtt, onHttp, onCalls, onLive } = deps;
  const { nodes, self, host, masterKey } = settings;
  const key = linkKey(masterKey, self.number);
  const members = new Set(nodes.map(({ number }) => String(number)));
  const instance = randomUUID();
  const takeClients = takeSharedLinks({ onClient: onMqtt, helloTimeoutMs });
  const sockets = new Set<Socket>();
  /** The node at the other end. */
  const nodeBySocket = new WeakMap<TLSSocket, number>();
  const server = createServer(
    {
      ...linkSuites,
      ALPNProtocols: Object.values(linkProtocols),
      handshakeTimeout: helloTimeoutMs,
      // A session that is resumed would not say again which node it is.
      secureOptions: constants.SSL_OP_NO_TICKET,
      pskCallback: (socket, identity) => {
        if (!members.has(identity)) return null;
        nodeBySocket.set(socket, Number(identity));
        return key;
      },
    },
    (socket: TLSSocket) => {
      socket.on("error", () => socket.destroy());
      socket.setNoDelay(true);
      socket.setKeepAlive(true, aliveMs);
      if (socket.alpnProtocol === linkProtocols.echo) return void socket.pipe(socket);
      if (socket.alpnProtocol === linkProtocols.self) return void socket.end(instance);
      onLink(nodeBySocket.get(socket) as number, socket);
      if (socket.alpnProtocol === linkProtocols.mqtt) takeClients(socket);
      else if (socket.alpnProtocol === linkProtocols.http) onHttp(socket);
      else if (socket.alpnProtocol === linkProtocols.calls) onCalls(socket);
      else onLive(socket);
    },
  );
  // `close` must also end sockets that have not completed a handshake.
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.maxConnections = deps.linksMax;
  const refusals = createRefusals(log);
  server.on("tlsClientError", (error, socket) => {
    refusals.add(socket.remoteAddress, error);
    // Node leaves that to us, above all for one that has said nothing in time.
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new ConfigError([
          `CLUSTER_NODES: cannot listen on ${host}:${self.port}: ${error.code ?? error.message}`,
        ]),
      ),
    );
    server.listen({ host, port: self.port, backlog }, resolve);
  });
  const found = await askSelf(settings);
  if (found === null)
    log.warn(
      "this node does not reach itself at its address in CLUSTER_NODES: whether others do is not known",
      {
        host: self.host,
        port: self.port,
      },
    );
  else if (found !== instance) {
    server.close();
    throw new ConfigError([
      `NODE_NUMBER: another process is node ${self.number}, at ${self.host}:${self.port}: each needs a number of its own`,
    ]);
  }
  return {
    stop: () => server.close(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** What answers at this node's own address; null: nothing does. */
function askSelf({ self, masterKey }: ClusterSettings): Promise<string | null> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({
      host: self.host,
      port: self.port,
      ...linkOptions(linkKey(masterKey, self.number), self.number, linkProtocols.self),
    });
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text === "" ? null : text);
    };
    const timer = setTimeout(end, helloTimeoutMs);
    socket.on("data", (piece: Buffer) => {
      text += piece.toString("latin1");
    });
    socket.once("error", end);
    socket.once("close", end);
  });
}

const refusedEveryMs = 60_000;

/** Logs refused links now and then, not each one. */
function createRefusals(log: Logger) {
  let count = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    add: (address: string | undefined, { message }: Error): void => {
      count++;
      if (performance.now() - loggedAt < refusedEveryMs) return;
      loggedAt = performance.now();
      log.warn(
        "a link of the cluster was refused: another MASTER_KEY or CLUSTER_NODES, or none of its nodes",
        {
          address,
          error: message,
          count,
        },
      );
      count = 0;
    },
  };
}
