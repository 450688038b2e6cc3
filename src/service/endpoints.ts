import { X509Certificate } from "node:crypto";
import { authenticateDevice } from "../../ingest/access/credentials.js";
import { createDenials } from "../../ingest/access/denials.js";
import { createGuessBackOff } from "../../ingest/access/guess-back-off.js";
import { freeLoginFailures, type GuessGuard, guardGuessing } from "../../ingest/access/guessing.js";
import { createLimits } from "../../ingest/access/limits.js";
import { createProxies } from "../../ingest/access/proxies.js";
import { createVerifiedLogins } from "../../ingest/access/verified-logins.js";
import { createIDMemory, type IDMemory } from "../../ingest/clients/device-ids.js";
import { createWaitingForDisk } from "../../ingest/clients/waiting-for-disk.js";
import type { LocalTime } from "../../ingest/decode/time.js";
import { type ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import {
  type ClientSessions,
  createClientSessions,
  sessionsOfShards,
} from "../../ingest/sessions/client-sessions.js";
import type { Broker } from "../../ingest/transports/broker/broker.js";
import { type BrokerAccess, createBrokerAccess } from "../../ingest/transports/broker/broker-access.js";
import { takenByEarlierRun } from "../../ingest/transports/broker/redelivery.js";
import type { BrokerSettings } from "../../ingest/transports/broker/settings.js";
import {
  createHttpTransport,
  type HttpContext,
  type HttpTransport,
} from "../../ingest/transports/http/transport.js";
import { computePacketBytesMax } from "../../ingest/transports/mqtt/codec/packet-size.js";
import type { EndpointBase, EndpointContext } from "../../ingest/transports/mqtt/listeners/endpoint.js";
import {
  createWebSocketTransport,
  type WebSocketContext,
  type WebSocketTransport,
} from "../../ingest/transports/websocket/transport.js";
import { hashClientID } from "../../ingest/uplinks/accept.js";
import { takenBefore } from "../../ingest/uplinks/redelivery.js";
import { createRepeats } from "../../ingest/uplinks/repeats.js";
import type { Clock } from "../../store/lib/clock.js";
import { createShares, type Shares } from "../../store/lib/shares.js";
import { isCertDisabled } from "../../store/metadata/policies/certs.js";
import { ownCredentials } from "../brokers/own-account.js";
import { trustedRoots } from "../certificates/authority.js";
import { createServerCertificate } from "../certificates/server-certificate.js";
import { createChangeNotices } from "../cluster/change-notices.js";
import { createLinks } from "../cluster/links.js";
import { createNeighbours, type NeighbourNodes } from "../cluster/neighbours.js";
import type { ClusterSettings } from "../config/cluster.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import type { Status } from "../observability/status.js";
import { certificateNamed, connectBroker } from "./broker.js";
import { type ClusterBroker, openClusterBroker } from "./cluster-broker.js";
import type { Faults } from "./faults.js";
import { changePollMs, type MetadataLayer } from "./metadata-layer.js";
import { type MqttListeners, openMqttListeners, wantsTls } from "./mqtt-listeners.js";
import { openServerIdentity, type ServerIdentity } from "./server-identity.js";
import type { Shard } from "./shard.js";
import type { ShardPipeline } from "./shard-pipeline.js";

/** The endpoints that devices connect to: the MQTT listeners, and the external broker if there is one. */
export interface Endpoints {
  /** The keys and certificates with which TLS listeners authenticate. */
  readonly identity: ServerIdentity;
  readonly listeners: MqttListeners;
  /** The other nodes of a cluster; null: there are none. */
  readonly cluster: NeighbourNodes | null;
  /** In a cluster it has what other nodes ask. */
  readonly broker: Broker | ClusterBroker | null;
  /** HTTP for devices, and WebSocket without MQTT. */
  readonly http: HttpTransport;
  readonly webSockets: WebSocketTransport;
  readonly sessions: ClientSessions;
  /** Answers an external broker's requests about permissions. */
  readonly brokerAccess: BrokerAccess;
}

interface EndpointsDeps {
  readonly config: Config;
  readonly brokerSettings: BrokerSettings | null;
  readonly metadata: MetadataLayer;
  readonly pipelines: ByShard<ShardPipeline>;
  readonly status: Status;
  readonly log: Logger;
  readonly faults: Faults;
  readonly clock: Clock;
  /** Reads a time without an offset. */
  readonly local: LocalTime;
  /** Reserves the bytes of an answer to a device. */
  readonly takeAnswerRoom: HttpContext["takeAnswerRoom"];
  /** The node that has a shard; null: none. */
  readonly holderOf: (shard: number) => number | null;
  /** The most MQTT connections. */
  readonly connectionsMax: number;
}

export async function openEndpoints(deps: EndpointsDeps): Promise<Endpoints> {
  const { config, metadata, pipelines, status, log, clock } = deps;
  const { now, monotonic } = clock;
  const { db, devices, authority, directory, meter } = metadata;
  const guesses = {
    backOff: createGuessBackOff(monotonic, freeLoginFailures),
    proven: createVerifiedLogins(),
  };
  const limits = createLimits(config.limits, monotonic);
  const denials = createDenials(
    pipelines.map(({ accept }) => accept),
    meter,
    monotonic,
  );
  const cluster = config.cluster && createEndpointCluster(deps, config.cluster);
  const base = createEndpointBase(deps, guesses, { limits, denials, neighbours: cluster });
  const ways = pipelines.map((pipeline) => {
    const waiting = createWaitingForDisk(pipeline.accept);
    pipeline.shard.onCommit(waiting.afterCommit);
    const { shard, accept } = pipeline;
    return { shard, accept, context: createEndpointContext(base, pipeline), waiting };
  });
  const identity = await openServerIdentity(
    {
      log,
      clock,
      certificate: createServerCertificate({
        config,
        authority,
        vault: devices.vault,
        onFault: (path, error) =>
          log.warn("the kept server certificate cannot be used: another is issued", { path, error }),
      }),
      trusted: () => trustedRoots(devices, authority, now()),
      note: (trouble) => status.note("certificate", trouble),
      onEnd: status.certificateEnds,
    },
    wantsTls(config) || config.httpsPort !== null,
  );
  status.certificateEnds("authority", Date.parse(new X509Certificate(authority.root).validTo));
  const listeners = await openMqttListeners({
    config,
    identity,
    meter,
    clock,
    connectionsMax: deps.connectionsMax,
    base,
    contexts: ways.map(({ context }) => context),
  });
  identity.renewWhenDue();
  pipelines.each(({ shard }) => shard.onCommit(listeners.afterCommit));
  const ids = createShares<number>(idBytesMax);
  const clients = ways.map(({ shard, context, waiting }) => ({
    ...context,
    waiting,
    clientsMax: config.mqttConnectionsMax,
    ids: createMessageIDMemory(shard, clock, ids),
  }));
  const transports = createTransports(deps, base);
  const http = createHttpTransport(transports, clients);
  const webSockets = createWebSocketTransport(transports, clients);
  const broker = openEndpointBroker(deps, limits, cluster);
  const brokerAccess = createBrokerAccess({
    directory,
    denials,
    now,
    guessesOf: guardByTenant(guesses, monotonic),
    own: ownCredentials(config),
    certificate: (commonName) => certificateNamed(db, commonName),
    isDisabled: (fingerprint) => isCertDisabled(db, fingerprint),
  });
  const sessions = sessionsOfShards(
    ways.map(({ shard: { registry, connections, records }, accept, waiting: { untilKept } }) => {
      const stopped = () => accept.stopped;
      return createClientSessions({ registry, connections, records, untilKept, stopped, now });
    }),
  );
  return { identity, listeners, cluster, broker, http, webSockets, sessions, brokerAccess };
}

function createEndpointCluster(
  { metadata, pipelines, faults, log }: EndpointsDeps,
  settings: ClusterSettings,
): NeighbourNodes {
  const links = createLinks(settings, log);
  const others = settings.nodes.filter((one) => one !== settings.self).map(({ number }) => number);
  metadata.db.afterWrite(createChangeNotices(others, links, changePollMs));
  const onFault = faults("at a call of another node");
  return createNeighbours(pipelines, metadata.directory, links, { others, onFault });
}

/** Sets in each tenant's own table. */
const tenantSets = 128;

/** A tenant names addresses as it likes, so neither its counts nor their number may affect those of others. */
function guardByTenant(shared: GuessGuard, monotonic: () => number): (tenant: number | null) => GuessGuard {
  const own = new Map<number, GuessGuard>();
  return (tenant) => {
    if (tenant === null) return shared;
    const backOff = () => createGuessBackOff(monotonic, freeLoginFailures, tenantSets);
    const known = own.get(tenant) ?? { backOff: backOff(), proven: shared.proven };
    own.set(tenant, known);
    return known;
  };
}

/** What the connections of all shards share. */
function createEndpointBase(
  { config, metadata, faults, clock }: EndpointsDeps,
  guesses: GuessGuard,
  shared: Pick<EndpointBase, "limits" | "denials" | "neighbours">,
): EndpointBase {
  const { directory, meter } = metadata;
  return {
    meter,
    ...clock,
    ...shared,
    topics: config.topics,
    packetBytesMax: computePacketBytesMax(config.topics),
    keepAliveMax: config.keepAliveMax,
    authenticate: (username, token, certificate, address) =>
      guardGuessing(guesses, { address, username, token }, certificate !== null, () =>
        authenticateDevice(directory, username, { token, certificate }, clock.now(), (fingerprint) =>
          isCertDisabled(metadata.db, fingerprint),
        ),
      ),
    platformSubscriptions: directory.platformSubscriptions,
    hold: directory.hold,
    release: directory.release,
    onFault: faults("at a packet of MQTT"),
  };
}

function createEndpointContext(
  base: EndpointBase,
  { shard, accept, presence }: ShardPipeline,
): EndpointContext {
  const { journal, events, registry, records, connections, work, earlier } = shard;
  return {
    ...base,
    accept,
    connections,
    presence,
    registry,
    records,
    work,
    takenBefore: async ({ device, session, connection }) => {
      // Messages of the earlier connection may still be on their way to the disk, where the history is read.
      await journal.waitFor(connection - 1);
      return takenBefore(events.history, { device: device.id, session, connection }, earlier.endedAt);
    },
  };
}

/** Bytes of the ids of messages and batches that are remembered, shared by tenants. */
const idBytesMax = 64 * 1024 * 1024;

/** What transports beside MQTT share. */
function createTransports(
  { config, metadata, local, takeAnswerRoom }: EndpointsDeps,
  base: EndpointBase,
): HttpContext & WebSocketContext {
  return {
    ...base,
    local,
    takeAnswerRoom,
    directory: metadata.directory,
    presenceSeconds: config.presenceSeconds,
    clientsMax: config.mqttConnectionsMax,
    proxies: createProxies(config.trustedProxies),
  };
}

/** @param bytes of the ids that are remembered, of all shards */
function createMessageIDMemory(
  { journal, events, earlier }: Shard,
  { now }: Clock,
  bytes: Shares<number>,
): IDMemory {
  const repeats = createRepeats({
    history: events,
    readable: async () => void (await journal.waitFor(journal.appendedID - 1)),
    earlierEndedAt: earlier.endedAt,
    now,
  });
  return createIDMemory(repeats, bytes);
}

function openEndpointBroker(
  deps: EndpointsDeps,
  limits: EndpointContext["limits"],
  cluster: NeighbourNodes | null,
): Broker | ClusterBroker | null {
  const { brokerSettings, metadata, pipelines, status, log, faults, clock, config } = deps;
  if (brokerSettings === null) return null;
  const { directory, meter, db } = metadata;
  const parts = {
    meter,
    limits,
    directory,
    now: clock.now,
    log,
    topics: config.topics,
    note: (trouble: string | null, of?: string) => status.note("broker", trouble, of),
    onFault: faults("at a message of the broker"),
  };
  if (cluster !== null) {
    const { monotonic } = clock;
    const { holderOf } = deps;
    const inCluster = { ...parts, pipelines, db, cluster, holderOf, monotonic };
    return openClusterBroker(brokerSettings, inCluster);
  }
  const session = hashClientID(brokerSettings.clientID);
  const broker = connectBroker(brokerSettings, {
    ...parts,
    shards: pipelines.map(({ shard, accept }) => {
      const { registry, work, events, earlier } = shard;
      const takenBefore = (device: number) => takenByEarlierRun(events.history, device, session, earlier);
      return { accept, registry, work, takenBefore };
    }),
    wayTo: (found) => {
      if (found instanceof Elsewhere) throw new RangeError(`shard ${found.shard} is not here`);
      return found;
    },
    isFull: () => pipelines.all.some(({ accept }) => accept.full),
    mayConnect: async () => true,
  });
  pipelines.map(({ shard }) => shard.onCommit(broker.afterCommit));
  return broker;
}
