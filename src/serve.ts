import { mkdir, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve as serveHttp } from "@hono/node-server";
import { createAccept } from "../ingest/accept.js";
import { createBackOff } from "../ingest/back-off.js";
import { createBrokerAccess } from "../ingest/broker-access.js";
import { type AlertsConsumer, startAlertsConsumer } from "../ingest/consumers/alerts.js";
import { type SeriesConsumer, startSeriesConsumer } from "../ingest/consumers/series.js";
import { authenticate } from "../ingest/credentials.js";
import { utcMicros, type WallTime } from "../ingest/decode/time.js";
import { createDenials } from "../ingest/denials.js";
import { createDirectory } from "../ingest/directory.js";
import { freeFailures, guardGuessing } from "../ingest/guessing.js";
import { createLimits } from "../ingest/limits.js";
import { createLiveFeed } from "../ingest/live.js";
import { createMeter } from "../ingest/meter.js";
import { mayPublish } from "../ingest/policies.js";
import { createPresence } from "../ingest/presence.js";
import { takenBefore } from "../ingest/redelivery.js";
import { forgetDeparted } from "../ingest/sessions/departed.js";
import { createDownlinks } from "../ingest/sessions/downlinks.js";
import { createSessions } from "../ingest/sessions/live.js";
import { openSpaces } from "../ingest/sessions/open.js";
import { createSessionRecords } from "../ingest/sessions/records.js";
import { startWills, type Wills } from "../ingest/sessions/wills.js";
import type { Broker } from "../ingest/transports/broker/broker.js";
import { createWatchPlans } from "../ingest/watch/plan.js";
import { compileFormula } from "../query/formula.js";
import { createSeriesRefs } from "../query/series-refs.js";
import { zone } from "../query/zone.js";
import { openChangeFeed } from "../store/changes.js";
import { readCheckpoint, saveCheckpoint } from "../store/checkpoints.js";
import type { Db } from "../store/db.js";
import { existingDevices } from "../store/device-access.js";
import { clearPresence } from "../store/device-presence.js";
import { openEventLog } from "../store/events.js";
import { type Journal, openJournal } from "../store/journal.js";
import { createVault } from "../store/secrets.js";
import type { SeriesStore } from "../store/series.js";
import { openInfluxSeriesStore } from "../store/series-influx.js";
import { openLibsqlSeriesStore } from "../store/series-libsql.js";
import { openSessionStore } from "../store/session-store.js";
import { createApp } from "./app.js";
import { openAuthority, trustedRoots } from "./authority.js";
import { certificateNamed, connectBroker, ownCredentials, readBrokerSettings } from "./broker.js";
import { createCatalog } from "./catalog.js";
import type { Config } from "./config.js";
import { createCommands } from "./control/commands.js";
import { settleIssued, startExpiry } from "./control/issued.js";
import { createReceipts } from "./control/receipts.js";
import { type Scheduler, startScheduler } from "./control/scheduler.js";
import { elsewhereOf, throughBroker } from "./control/through-broker.js";
import { ensureConfiguredKey, firstStart, masterKey } from "./first-start.js";
import { createHistoryGate } from "./history/gate.js";
import { createAuthenticator } from "./http/auth.js";
import { lockDataDir } from "./lock.js";
import type { Logger } from "./log.js";
import { type Maintenance, startMaintenance } from "./maintenance.js";
import { openMetadata } from "./metadata.js";
import {
  type ListenerName,
  listenerAddresses,
  type MqttListeners,
  openMqttListeners,
} from "./mqtt-listeners.js";
import { createServerCertificate } from "./server-certificate.js";
import { createStatus, type Status } from "./status.js";
import { taskKinds } from "./tasks/kinds.js";
import { openTasksRunner } from "./tasks/runner.js";
import { createStamp } from "./views/time.js";

/** The addresses of the listeners, null where one is off. */
export interface Service extends Readonly<Record<ListenerName, string | null>> {
  readonly http: string;
  /** Reads the TLS certificate again; connections stay. */
  reload(): Promise<void>;
  /** Stops listening, finishes what is in flight, commits and closes. */
  close(): Promise<void>;
}

const segmentBytesMax = 64 * 1024 * 1024;
const segmentAgeMaxMs = 3_600_000;
const pendingBytesMax = 32 * 1024 * 1024;
const directoryDevicesMax = 50_000;
const changePollMs = 500;
/** InfluxDB syncs its log at each write and takes two at once; the embedded store takes one at a time. */
const influxWrites = { lanes: 2, lingerMs: 50 } as const;
/** Half of what the engine would take: the process is to stay below 400 MB. */
const embeddedMemtablePointsMax = 500_000;
const embeddedWrites = { lanes: 1, lingerMs: 5 } as const;
/** A connection that breaks off and comes back within it is no alert. */
const offlineGraceMs = 60_000;
const headerBytesMax = 64 * 1024;
/** Longer than what load balancers keep a connection for: the side that sends next should not find it closed. */
const idleMs = 75_000;
const seriesConsumer = "series";

/** Opens every store, wires the pipelines and listens. `fatal` is called when the service cannot go on. */
export async function serve(config: Config, log: Logger, fatal: (error: Error) => void): Promise<Service> {
  const now = Date.now;
  const dir = config.dataDir;
  const brokerSettings = await readBrokerSettings(config);
  await mkdir(dir, { recursive: true });
  const lock = await lockDataDir(join(dir, "lock.db"));
  const db = await openMetadata(config);
  const vault = createVault(await masterKey(config));
  const first = await firstStart(db, config, now());
  if (first !== null) log.info("first start: what was made is shown once", { ...first });
  await ensureConfiguredKey(db, config, now());
  const authority = await openAuthority({ db, vault }, config, now());
  await clearPresence(db, config.nodeNumber);

  const meter = createMeter();
  const devices = { db, vault };
  const directory = createDirectory(devices, directoryDevicesMax);
  const authenticator = createAuthenticator(db, now);
  const catalog = createCatalog(db);
  let alerts: AlertsConsumer | null = null;
  const gate = createHistoryGate();
  const credentialEntities = new Set(["user", "api_key"]);
  let scheduler: Scheduler | null = null;
  const feed = await openChangeFeed(
    db,
    (change) => {
      if (credentialEntities.has(change.entity)) authenticator.forget();
      catalog.forget(change);
      alerts?.forget(change);
      gate.changed(change);
      if (change.entity === "schedule") void scheduler?.look();
      return directory.apply(change);
    },
    changePollMs,
  );

  const trouble = (part: string) => (error: Error) => log.warn(`${part}: ${error.message}`);
  const events = await openEventLog(join(dir, "events.db"), trouble("event index"));
  let mqtt: MqttListeners | null = null;
  let broker: Broker | null = null;
  const journal = await openJournal({
    dir: join(dir, "journal"),
    node: config.nodeNumber,
    now,
    segmentBytesMax,
    segmentAgeMaxMs,
    pendingBytesMax,
    freeBytesMin: config.freeBytesMin,
    onRecord: events.onRecord,
    onSegmentClosed: events.onSegmentClosed,
    onCommit: () => {
      mqtt?.afterCommit();
      broker?.afterCommit();
    },
    onTrouble: trouble("journal"),
  });
  await events.attach(journal);
  // What a killed run left open had ended by the time of its last record.
  const killedAt = journal.lastStamp;
  const earlierRun = { lastID: journal.committedID, endedAt: killedAt };
  const sessionStore = await openSessionStore(join(dir, "sessions.db"));
  const saved = await openSpaces(sessionStore, journal, meter);
  const { spaces } = saved;
  await forgetDeparted(spaces, (ids) => existingDevices(db, ids));
  let wills: Wills | null = null;
  const records = createSessionRecords(journal, spaces, now, () => wills?.look());
  records.disconnectKilled(killedAt);
  wills = startWills({
    ...{ spaces, records, now, onTrouble: trouble("wills") },
    refuses: async (device, topic) => {
      const entry = await directory.get(device);
      return entry !== undefined && !mayPublish(entry, topic);
    },
  });
  const sessions = createSessions({ spaces, now });
  const receipts = createReceipts({ db, log, now });
  directory.onDevice((id, entry) => sessions.check(id, entry));
  directory.onSubscriptions((entry) =>
    sessions.subscribeByPlatform(entry.id, directory.platformSubscriptions(entry)),
  );
  const presence = createPresence(db, config.nodeNumber);
  const series = await openSeries(config, db, fatal);

  const live = createLiveFeed();
  let consumer: SeriesConsumer | null = null;
  let maintenance: Maintenance | null = null;
  let closing = false;
  const settledID = (): number => consumer?.settledID ?? 0;
  const accept = createAccept(journal, meter, () => maintenance?.backlogFull ?? false);
  const status = createStatus({
    journal,
    meter,
    settledID,
    alertsID: () => alerts?.settledID ?? 0,
    stopped: () => accept.stopped,
    closing: () => closing,
    now,
  });
  const place = zone(config.timezone);
  const local = (wall: WallTime): number => {
    const micros = utcMicros(wall);
    return place.fromWall(Math.floor(micros / 1000)) * 1000 + (micros % 1000);
  };
  const oldest = (): number =>
    config.pointRetentionDays === 0 ? 0 : (now() - config.pointRetentionDays * 86_400_000) * 1000;
  if (!config.holdSeries) {
    const watcher = await startAlertsConsumer({
      ...{ journal, directory, db, meter, now, node: config.nodeNumber, offlineGraceMs },
      plans: createWatchPlans(db, compileCondition),
      onCarried: (device, carrier, at) => presence.carried(device, carrier, Math.floor(at / 1000)),
      rules: () => ({ local, oldest: oldest() }),
      onTrouble: (error) => status.note("alerts", error?.message ?? null),
      onFailure: fatal,
    });
    alerts = watcher;
    consumer = await startSeriesConsumer({
      journal,
      series: timed(series, status),
      directory,
      db,
      meter,
      rules: () => ({ local, oldest: oldest() }),
      watcher,
      now,
      ...(config.influx === null ? embeddedWrites : influxWrites),
      onStored: live.publish,
      onTrouble: (error) => status.note("series", error?.message ?? null),
      onFailure: fatal,
    });
  }
  maintenance = startMaintenance({
    config,
    db,
    journal,
    events,
    series,
    presence,
    sessions: {
      save: () => saved.save(receipts.stored),
      end: () => {
        spaces.expire(now() * 1000);
        records.expireMessages();
      },
      savedID: () => saved.savedID,
    },
    settledID,
    savedID: () => alerts?.savedID ?? 0,
    historySettled: gate.settled,
    log,
    now,
  });

  const guesses = createBackOff(now, freeFailures);
  const limits = createLimits(config.limits, () => performance.now());
  const denials = createDenials(accept, meter, now);
  const listeners = await openMqttListeners({
    ...{ config, meter, log, now },
    certificate: createServerCertificate({ config, authority, vault }),
    trusted: () => trustedRoots({ db, vault }, authority, now()),
    note: (trouble) => status.note("certificate", trouble),
    context: {
      accept,
      sessions,
      presence,
      spaces,
      records,
      denials,
      meter,
      now,
      keepAliveMax: config.keepAliveMax,
      limits,
      authenticate: (username, token, certificate, address) =>
        guardGuessing(guesses, address, username, () =>
          authenticate(directory, username, { token, certificate }, now()),
        ),
      platformSubscriptions: directory.platformSubscriptions,
      takenBefore: async (origin) => {
        // What the earlier connection sent may still be on its way to the disk, where the history looks.
        await journal.waitFor(origin.connection - 1);
        return takenBefore(
          events.history,
          { device: origin.device.id, session: origin.session, connection: origin.connection },
          killedAt,
        );
      },
      hold: directory.hold,
      release: directory.release,
    },
  });
  mqtt = listeners;
  if (brokerSettings !== null) {
    broker = connectBroker(brokerSettings, earlierRun, {
      ...{ accept, spaces, meter, limits, directory, now, log, history: events.history },
      note: (trouble) => status.note("broker", trouble),
    });
  }
  const refs = createSeriesRefs();
  const node = config.nodeNumber;
  const here = createDownlinks({ spaces, records, directory, now });
  const downlinks = broker === null ? here : throughBroker(here, broker.outbound, directory);
  const elsewhere = broker === null ? {} : { elsewhere: elsewhereOf(broker.outbound, directory) };
  const commands = createCommands({
    ...{ db, node, sessions, downlinks, directory, receipts, now },
    stopped: () => accept.stopped,
    ...elsewhere,
  });
  await settleIssued({ db, now, node, held: saved.held, receipts });
  const expiry = startExpiry({ db, now, log });
  const tasks = await openTasksRunner({
    ...{ db, now, log, node: config.nodeNumber },
    dir: join(dir, "tasks"),
    kinds: taskKinds({
      ...{ config, db, commands, now },
      history: {
        ...{ db, series, refs, gate, events, directory, oldest, now, timezone: config.timezone },
        rules: () => ({ local, oldest: oldest() }),
      },
    }),
  });
  scheduler = startScheduler({ db, node, zone: place, commands, tasks, log, now });
  const app = createApp({
    config,
    brokerAccess: createBrokerAccess({
      ...{ directory, guesses, denials, now },
      own: ownCredentials(config),
      certificate: (commonName) => certificateNamed(db, commonName),
    }),
    brokers: { host: config.publicHost ?? config.host, ports: listeners.ports },
    tasks,
    commands,
    db,
    devices,
    events,
    series,
    live,
    refs,
    catalog,
    authenticator,
    authority,
    log,
    status,
    zone: place,
    stamp: createStamp(place),
    now,
    resettle: (sinceMs) => resettle(journal, consumer, sinceMs),
    ingestOf: async (id) => alerts?.ingestOf(id),
  });
  const server = await listenHttp(app.fetch, config);
  const http = addressText("http", config.host, (server.address() as AddressInfo).port);
  const addresses = listenerAddresses(config.host, listeners.ports);
  const addressFile = join(dir, "service.json");
  await writeFile(addressFile, JSON.stringify({ http, pid: process.pid }), { mode: 0o600 });
  await writeFile(join(dir, "authority.crt"), authority.root);
  log.info("listening", { http, ...addresses });

  return {
    http,
    ...addresses,
    reload: listeners.reload,
    close: async () => {
      closing = true;
      live.close();
      const httpClosed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      listeners.stopListening();
      broker?.stopReading();
      // What was taken is acknowledged before the connections end; a disk that takes nothing is not waited for.
      await allCommitted(journal);
      // A task that sends to devices must not find them gone: it goes on after the restart.
      await scheduler?.close();
      await tasks.close();
      broker?.close();
      wills?.close();
      await sessions.endAll("shutdown");
      await listeners.close();
      setTimeout(() => server.closeAllConnections(), httpGraceMs).unref();
      await httpClosed;
      // Ends of connections settle what they held.
      await allCommitted(journal);
      await expiry.close();
      await receipts.close();
      // The consumer first: a closed journal has nothing to wait for.
      await consumer?.close();
      await alerts?.close();
      await journal.close();
      await maintenance?.close();
      await saved.save(receipts.stored).catch(trouble("sessions"));
      sessionStore.close();
      feed.close();
      await series.close();
      await events.close();
      db.close();
      await rm(addressFile, { force: true });
      lock.release();
    },
  };
}

const httpGraceMs = 5000;

async function allCommitted(journal: Journal): Promise<void> {
  const target = journal.appendedID;
  while (journal.committedID < target && journal.stopped === null) {
    await journal.waitFor(journal.committedID);
  }
}

export function openSeries(config: Config, db: Db, fatal: (error: Error) => void): Promise<SeriesStore> {
  if (config.influx === null) {
    return openLibsqlSeriesStore({
      dir: join(config.dataDir, "series"),
      memtablePointsMax: embeddedMemtablePointsMax,
      onFailure: fatal,
    });
  }
  const node = config.nodeNumber;
  return openInfluxSeriesStore({
    ...config.influx,
    nodeNumber: node,
    checkpoint: {
      read: () => readCheckpoint(db, node, seriesConsumer),
      write: async (id) => {
        await db.write([saveCheckpoint(node, seriesConsumer, id)]);
      },
    },
  });
}

/** The data points of a saved condition may have gone since. */
function compileCondition(text: string) {
  const formula = compileFormula(text, new Set(), { allowUnknown: true });
  return { variables: formula.variables, evaluate: formula.row() };
}

/** The store with its writes timed for the histogram. */
function timed(series: SeriesStore, status: Status): SeriesStore {
  return {
    ...series,
    write: async (points, through) => {
      const startedAt = performance.now();
      const refused = await series.write(points, through);
      status.observeWrite((performance.now() - startedAt) / 1000);
      return refused;
    },
  };
}

async function resettle(
  journal: Journal,
  consumer: SeriesConsumer | null,
  sinceMs: number,
): Promise<{ messages: number; points: number }> {
  if (consumer === null) return { messages: 0, points: 0 };
  // The last segment begun before that time holds its first record.
  const from = journal.segments.findLast((segment) => segment.createdAt <= sinceMs) ?? journal.segments[0];
  return consumer.resettle(from === undefined ? 0 : from.firstID - 1);
}

function listenHttp(
  fetch: (request: Request) => Response | Promise<Response>,
  config: Config,
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serveHttp(
      {
        fetch,
        hostname: config.host,
        port: config.httpPort,
        serverOptions: { maxHeaderSize: headerBytesMax, keepAliveTimeout: idleMs },
      },
      () => {
        server.off("error", reject);
        resolve(server as Server);
      },
    );
    server.once("error", reject);
  });
}

function addressText(scheme: string, host: string, port: number): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
