import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Proxies } from "../../../access/proxies.js";
import type { Meter } from "../../../meter.js";
import type { IncomingSocket } from "../../sockets/incoming-socket.js";
import { createProxyLayer, type ProxyProtocol } from "../../sockets/proxy-layer.js";
import { createTlsLayer, type TlsIdentity, type TlsOffer } from "../../sockets/tls.js";
import type { MqttEndpoint } from "./endpoint.js";
import { createWebSocketLayer } from "./websocket.js";

/** One port of the endpoint. */
export interface MqttListener {
  readonly port: number;
  /** For TLS handshakes from now on. @throws Error if OpenSSL does not take it */
  renew(identity: TlsIdentity): void;
  /** Open connections stay. */
  stopListening(): void;
  /** Resolves when the last of its sockets has closed. */
  closed(): Promise<void>;
}

interface MqttListenerOptions {
  readonly host: string;
  readonly port: number;
  /** Null: without TLS. */
  readonly tls: Pick<TlsOffer, "identity" | "certificates" | "suites"> | null;
  readonly webSocket: boolean;
  /** Most bytes of a frame of a WebSocket. */
  readonly frameBytesMax: number;
  /** The proxies that are believed about the addresses of their clients. */
  readonly proxies: Proxies;
  readonly protocol: ProxyProtocol;
  readonly meter: Meter;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

/** The layers between TCP and MQTT; undefined for those that the listener does not have. */
interface Layers {
  accept(socket: Socket, incoming: IncomingSocket): void;
  sweep?: () => void;
  renew?: (identity: TlsIdentity) => void;
}

const backlog = 4096;
const sweepMs = 1000;

export async function listenMqtt(
  endpoint: MqttEndpoint,
  options: MqttListenerOptions,
): Promise<MqttListener> {
  const layers = createLayers(endpoint, options);
  const entrance = createProxyLayer(options, layers.accept);
  const pauseOnConnect = options.tls !== null;
  const server = createServer(
    { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000, pauseOnConnect },
    (socket) => {
      const incoming = endpoint.admit(socket);
      if (incoming !== null) entrance.accept(socket, incoming);
    },
  );
  await listen(server, options);
  const sweep = setInterval(() => {
    entrance.sweep();
    layers.sweep?.();
  }, sweepMs);
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    renew: (identity) => layers.renew?.(identity),
    stopListening: () => {
      if (server.listening) server.close();
    },
    closed: () => closed.finally(() => clearInterval(sweep)),
  };
}

function createLayers(endpoint: MqttEndpoint, options: MqttListenerOptions): Layers {
  const { tls, webSocket, meter, monotonic } = options;
  const upper = webSocket
    ? createWebSocketLayer(options, (stream, incoming) => endpoint.take(stream, incoming, null))
    : null;
  if (tls === null) return upper ?? { accept: (socket, incoming) => endpoint.take(socket, incoming, null) };
  const lower = createTlsLayer({ ...tls, meter, monotonic }, (socket, incoming, certificate) => {
    if (upper === null) endpoint.take(socket, incoming, certificate);
    else upper.accept(socket, incoming);
  });
  return {
    ...lower,
    sweep: () => {
      lower.sweep();
      upper?.sweep();
    },
  };
}

function listen(server: Server, { host, port }: MqttListenerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
