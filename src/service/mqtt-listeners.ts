import type { Duplex } from "node:stream";
import { createProxies } from "../../ingest/access/proxies.js";
import type { ByShard } from "../../ingest/directory/by-shard.js";
import type { Meter } from "../../ingest/meter.js";
import { computePacketBytesMax } from "../../ingest/transports/mqtt/codec/packet-size.js";
import {
  createEndpoint,
  type EndpointBase,
  type EndpointContext,
} from "../../ingest/transports/mqtt/listeners/endpoint.js";
import { listenMqtt, type MqttListener } from "../../ingest/transports/mqtt/listeners/listener.js";
import type { RelayedClient } from "../../ingest/transports/sockets/relay.js";
import type { ClientCertificates } from "../../ingest/transports/sockets/tls.js";
import type { Clock } from "../../store/lib/clock.js";
import type { Config, Port } from "../config/config.js";
import { ConfigError } from "../config/config.js";
import type { ServerIdentity } from "./server-identity.js";

/** The ports of the MQTT endpoint, by their names in the interface. */
export const listenerNames = ["mqtt", "mqtts", "mqttss", "ws", "wss"] as const;
export type ListenerName = (typeof listenerNames)[number];

interface Kind {
  readonly setting: string;
  readonly scheme: string;
  readonly portOf: (config: Config) => Port;
  readonly tls: boolean;
  readonly certificates: ClientCertificates;
  readonly webSocket: boolean;
}

const plain = { tls: false, certificates: "none", webSocket: false } as const;
const kinds: Readonly<Record<ListenerName, Kind>> = {
  mqtt: { ...plain, setting: "MQTT_PORT", scheme: "mqtt", portOf: (config) => config.mqttPort },
  mqtts: {
    ...plain,
    setting: "MQTTS_PORT",
    scheme: "mqtts",
    portOf: (config) => config.mqttsPort,
    tls: true,
  },
  mqttss: {
    setting: "MQTTSS_PORT",
    scheme: "mqtts",
    portOf: (config: Config) => config.mqttssPort,
    tls: true,
    certificates: "required",
    webSocket: false,
  },
  ws: { ...plain, setting: "WS_PORT", scheme: "ws", portOf: (config) => config.wsPort, webSocket: true },
  wss: {
    setting: "WSS_PORT",
    scheme: "wss",
    portOf: (config: Config) => config.wssPort,
    tls: true,
    certificates: "none",
    webSocket: true,
  },
};

/** Whether any listener of MQTT is to speak TLS. */
export function wantsTls(config: Config): boolean {
  return listenerNames.some((name) => kinds[name].tls && kinds[name].portOf(config) !== null);
}

/** The MQTT endpoint with its listeners. */
export interface MqttListeners {
  /** Null for a listener that is off. */
  readonly ports: Readonly<Record<ListenerName, number | null>>;
  /** Takes a client that another node of the cluster passes on. */
  takeRelayed(stream: Duplex, client: RelayedClient): void;
  /** To be called after each commit of the journal. */
  afterCommit(): void;
  /** Stops listening; open connections stay. */
  stopListening(): void;
  close(): Promise<void>;
}

interface MqttListenersDeps {
  readonly config: Config;
  readonly identity: ServerIdentity;
  readonly clock: Clock;
  readonly base: EndpointBase;
  readonly contexts: ByShard<EndpointContext>;
  /** Sockets at once, over all listeners. */
  readonly connectionsMax: number;
  readonly meter: Meter;
}

/** @throws ConfigError for a port that is not available */
export async function openMqttListeners(deps: MqttListenersDeps): Promise<MqttListeners> {
  const { config, contexts, meter } = deps;
  const { monotonic } = deps.clock;
  const endpoint = createEndpoint(deps.base, contexts, deps.connectionsMax);
  const proxies = createProxies(config.trustedProxies);
  const frameBytesMax = computePacketBytesMax(config.topics);
  const open = new Map<ListenerName, MqttListener>();
  const wanted = listenerNames.filter((name) => kinds[name].portOf(config) !== null);
  deps.identity.follow((renewed) => {
    for (const listener of open.values()) listener.renew(renewed);
  });
  try {
    for (const name of wanted) {
      const { tls, certificates, webSocket, setting, portOf } = kinds[name];
      const port = portOf(config);
      const identity = deps.identity.current();
      if (port === null || (tls && identity === null)) continue;
      const offer = tls && identity !== null ? { identity, certificates, suites: config.tlsSuites } : null;
      const shared = { proxies, protocol: config.proxyProtocol, frameBytesMax };
      const options = { host: config.host, port, tls: offer, webSocket, meter, monotonic, ...shared };
      open.set(
        name,
        await listenMqtt(endpoint, options).catch((error: NodeJS.ErrnoException) => {
          const where = `${config.host}:${port}`;
          throw new ConfigError([`${setting}: cannot listen on ${where}: ${error.code ?? error.message}`]);
        }),
      );
    }
  } catch (error) {
    for (const listener of open.values()) listener.stopListening();
    endpoint.close();
    throw error;
  }

  const portOf = (name: ListenerName): number | null => open.get(name)?.port ?? null;
  return {
    ports: {
      mqtt: portOf("mqtt"),
      mqtts: portOf("mqtts"),
      mqttss: portOf("mqttss"),
      ws: portOf("ws"),
      wss: portOf("wss"),
    },
    takeRelayed: (stream, { address, certificate }) => {
      const incoming = endpoint.admit(stream, address);
      if (incoming !== null) endpoint.take(stream, incoming, certificate);
    },
    afterCommit: endpoint.afterCommit,
    stopListening: () => {
      for (const listener of open.values()) listener.stopListening();
    },
    close: async () => {
      for (const listener of open.values()) listener.stopListening();
      endpoint.close();
      await Promise.all([...open.values()].map((listener) => listener.closed()));
    },
  };
}

/** Each listener's address as clients use it; null for one that is off. */
export function listenerAddresses(
  host: string,
  ports: MqttListeners["ports"],
): Record<ListenerName, string | null> {
  const name = host.includes(":") ? `[${host}]` : host;
  const address = (listener: ListenerName): string | null => {
    const port = ports[listener];
    const { scheme, webSocket } = kinds[listener];
    return port === null ? null : `${scheme}://${name}:${port}${webSocket ? "/mqtt" : ""}`;
  };
  return {
    mqtt: address("mqtt"),
    mqtts: address("mqtts"),
    mqttss: address("mqttss"),
    ws: address("ws"),
    wss: address("wss"),
  };
}
