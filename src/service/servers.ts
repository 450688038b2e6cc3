/** The service's outer side: the MQTT listeners, the external broker, the HTTP API, and the commands that it sends. */
import { join } from "node:path";
import type { BrokerSettings } from "../../ingest/transports/broker/settings.js";
import { createSeriesRefs, type SeriesRefs } from "../../query/series-refs.js";
import type { Clock } from "../../store/lib/clock.js";
import { nextTurn } from "../../store/lib/scheduling.js";
import { createApp } from "../api/app.js";
import { listenCluster } from "../cluster/listener.js";
import type { ShardNews } from "../commands/node-calls.js";
import type { Config } from "../config/config.js";
import type { BuildInfo } from "../host/build-info.js";
import { connectionLimits, openFilesMax } from "../host/descriptors.js";
import { createDiskSpace, spareBytes } from "../http/disk-space.js";
import { createRequestBudget, type RequestBudget } from "../http/request-budget.js";
import { createResponseBudget, type ResponseBudget } from "../http/response-budget.js";
import { createSessionCookies } from "../http/session-cookie.js";
import { createShareAccess } from "../http/share-access.js";
import { answerNode } from "../live-nodes/node-responder.js";
import { createTileSource, type TileSource } from "../map-tiles/tile-source.js";
import type { Notifier } from "../notifications/notifier.js";
import type { Logger } from "../observability/log.js";
import { listenHttp } from "../server/http-server.js";
import { type CommandsAndTasks, openCommandsAndTasks } from "./commands-and-tasks.js";
import { type Endpoints, openEndpoints } from "./endpoints.js";
import { type Live, openLive } from "./live.js";
import { openNotifier } from "./notifications.js";
import type { Pipelines } from "./pipelines.js";
import type { Storage } from "./storage.js";

interface Servers {
  readonly http: string;
  /** Null if it is off. */
  readonly https: string | null;
  /** Reads the server's certificate again, for handshakes from now on; a bad one leaves the present one in use. */
  reload(): Promise<void>;
  readonly listeners: Endpoints["listeners"];
  /** The other nodes; null: there are none. */
  readonly cluster: Endpoints["cluster"];
  /** Another node of the cluster is to follow the external broker. */
  leaveBroker(): Promise<void>;
  /** Ends requests, tasks and connections, and waits until the messages that they brought are acknowledged. */
  close(): Promise<void>;
}

interface ServersDeps {
  readonly config: Config;
  readonly brokerSettings: BrokerSettings | null;
  readonly storage: Storage;
  readonly pipelines: Pipelines;
  readonly build: BuildInfo;
  readonly log: Logger;
  readonly clock: Clock;
  readonly shardNews: ShardNews;
  /** The node that has a shard; null: none. */
  readonly holderOf: (shard: number) => number | null;
}

export async function openServers(deps: ServersDeps): Promise<Servers> {
  const { config, storage, pipelines, log, clock } = deps;
  const { metadata } = storage;
  const shards = pipelines.ofShards.map(({ shard }) => shard);
  const connectionsMax = computeConnectionLimits(config, log);
  const answers = createResponseBudget(config.answerBytesMax, metadata.meter);
  const requests = createRequestBudget();
  const endpoints = await openEndpoints({
    config,
    metadata,
    pipelines: pipelines.ofShards,
    log,
    faults: storage.faults,
    clock,
    brokerSettings: deps.brokerSettings,
    status: pipelines.status,
    local: storage.times.rules().local,
    takeAnswerRoom: answers.takeNow,
    connectionsMax: connectionsMax.mqtt,
    holderOf: deps.holderOf,
  });
  const { listeners, broker, http: devices, webSockets } = endpoints;
  const refs = createSeriesRefs();
  const work = await openWork(deps, endpoints, refs);
  const notifier = openNotifier(config, metadata, work.commands, log, {
    ...clock,
    retentionTime: storage.retentionClock.now,
  });
  const mapTiles = config.mapTiles && createTileSource(config.mapTiles, log, clock);
  const live = openLive(deps, endpoints.cluster);
  const app = openApi(deps, endpoints, { ...work, notifier, answers, requests, mapTiles, live }, refs);
  const { identity } = endpoints;
  const current = identity.current();
  const tls =
    config.httpsPort === null || current === null
      ? {}
      : { tls: { port: config.httpsPort, config, identity: current, follow: identity.follow } };
  const http = await listenHttp(app.fetch, {
    ...tls,
    config,
    log,
    meter: metadata.meter,
    monotonic: clock.monotonic,
    requests,
    connectionsMax: connectionsMax.http,
    devices: endpoints.http,
    webSockets: endpoints.webSockets,
  });
  const cluster =
    config.cluster &&
    (await listenCluster({
      settings: config.cluster,
      log,
      linksMax: connectionsMax.mqtt + connectionsMax.http,
      onLink: (node, link) => endpoints.cluster?.watch(node, link),
      onMqtt: listeners.takeRelayed,
      onHttp: http.takeRelayed,
      onCalls: work.nodeCalls.take,
      onLive: (link) => void answerNode(pipelines.keptLive, link),
    }));
  return {
    http: http.address,
    https: http.secure,
    reload: identity.renew,
    listeners,
    cluster: endpoints.cluster,
    leaveBroker: async () => {
      if (broker !== null && "leave" in broker) await broker.leave();
    },
    close: async () => {
      http.stop();
      listeners.stopListening();
      cluster?.stop();
      live.tenantLive.close();
      broker?.stopReading();
      // Messages taken are acknowledged before the connections end; a disk that takes nothing is not waited for.
      await Promise.all(shards.all.map((shard) => shard.committed()));
      await notifier.close();
      mapTiles?.close();
      // A task that sends to devices must still find the connections.
      await work.stop();
      broker?.close();
      for (const { wills } of shards.all) wills.close();
      for (const { connections } of shards.all) await connections.endAll("shutdown");
      webSockets.endAll();
      await listeners.close();
      await http.closed();
      // The last messages to clients of other nodes go out at the end of the turn.
      await nextTurn();
      await cluster?.close();
      endpoints.cluster?.close();
      identity.close();
      devices.close();
      webSockets.close();
      // As they end, connections settle the messages that they held.
      await Promise.all(shards.all.map((shard) => shard.committed()));
      await work.close();
      await live.liveWatch.close();
    },
  };
}

/** As many connections as the settings allow and the process's limit of open files permits. */
function computeConnectionLimits(
  config: Config,
  log: Logger,
): { readonly http: number; readonly mqtt: number } {
  const most = { http: config.httpConnectionsMax, mqtt: config.mqttConnectionsMax };
  const limits = connectionLimits(openFilesMax(), most, config.cluster === null ? 1 : 3);
  if (limits.http < config.httpConnectionsMax) {
    log.warn("the limit of open files leaves few connections; raise it (ulimit -n)", { ...limits });
  }
  return limits;
}

/** Opens commands, and the background work for callers. */
function openWork(
  { config, storage, pipelines, log, clock, shardNews }: ServersDeps,
  { broker, cluster }: Endpoints,
  refs: SeriesRefs,
): Promise<CommandsAndTasks> {
  const { metadata, receipts, series, times, aside } = storage;
  const { dataDir, freeBytesMin } = config;
  const space = createDiskSpace(join(dataDir, "tasks"), () => spareBytes(dataDir, freeBytesMin));
  return openCommandsAndTasks({
    config,
    metadata,
    shards: pipelines.ofShards.map(({ shard }) => shard),
    cluster,
    shardNews,
    kept: pipelines.kept,
    faults: storage.faults,
    receipts,
    stopped: pipelines.stopped,
    broker,
    zone: times.zone,
    status: pipelines.status,
    asides: aside.all,
    retentionTime: storage.retentionClock.now,
    resumes: pipelines.tenantLive.resumes,
    hold: (seconds) => pipelines.hold(seconds, "task"),
    space,
    log,
    now: clock.now,
    history: {
      db: metadata.db,
      meter: metadata.meter,
      directory: metadata.directory,
      events: storage.events,
      series,
      refs,
      gate: pipelines.gate,
      space,
      timezone: config.timezone,
      earliest: config.oldestTime,
      oldest: times.oldest,
      rules: times.rules,
      now: clock.now,
      onFailed: storage.onFailed,
      isAside: (id) => aside.isAside("series", id),
    },
  });
}

function openApi(
  { config, build, storage, pipelines, log, clock }: ServersDeps,
  { listeners, cluster, sessions, brokerAccess }: Endpoints,
  {
    commands,
    tasks,
    backups,
    notifier,
    answers,
    requests,
    mapTiles,
    live,
  }: Pick<CommandsAndTasks, "commands" | "tasks" | "backups"> & {
    readonly notifier: Notifier;
    readonly answers: ResponseBudget;
    readonly requests: RequestBudget;
    readonly mapTiles: TileSource | null;
    readonly live: Live;
  },
  refs: SeriesRefs,
): ReturnType<typeof createApp> {
  const { metadata, series, aside, times } = storage;
  const { status } = pipelines;
  return createApp({
    config,
    cluster,
    db: metadata.db,
    devices: { ...metadata.devices, settlePresence: pipelines.settlePresence },
    catalog: metadata.catalog,
    authenticator: metadata.authenticator,
    cookies: createSessionCookies(metadata.authority.root),
    shares: createShareAccess(metadata.db, clock),
    authority: metadata.authority,
    events: storage.events,
    kept: pipelines.kept,
    series,
    refs,
    directory: metadata.directory,
    decodeRules: times.rules,
    live: pipelines.live,
    ...live,
    status,
    meter: metadata.meter,
    build,
    aside,
    commands,
    tasks,
    backups,
    notifier,
    mapTiles,
    sessions,
    brokerAccess,
    brokers: { host: config.publicHost ?? config.host, ports: listeners.ports },
    answers,
    requests,
    zone: times.zone,
    log,
    now: clock.now,
    holdForBackup: (seconds) => pipelines.hold(seconds, "command"),
    replaySince: pipelines.replaySince,
    ingestOf: pipelines.ingestOf,
    settleAlerts: pipelines.settleAlerts,
  });
}
