import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createPresence } from "../ingest/directory/presence.js";
import { createLiveFeed } from "../ingest/live/feed.js";
import { createAccept } from "../ingest/uplinks/accept.js";
import { createSeriesRefs } from "../query/series-refs.js";
import { zone } from "../query/zone.js";
import { createDamageLog } from "../store/files/damage.js";
import { type Clock, systemClock } from "../store/lib/clock.js";
import { createApp } from "./api/app.js";
import type { Config } from "./config/config.js";
import { openFilesMax, placesFor } from "./host/descriptors.js";
import { createAnswerRoom } from "./http/answer-room.js";
import { createDiskSpace, spareBytes } from "./http/disk-space.js";
import { createHistoryGate } from "./import-export/points/gate.js";
import { localTimeIn } from "./import-export/points/local-time.js";
import { createClockWatch } from "./observability/clock-watch.js";
import type { Logger } from "./observability/log.js";
import { listenHttp } from "./server/http-server.js";
import { openAsideKeeper } from "./service/aside.js";
import { readBrokerSettings } from "./service/broker.js";
import { createChecks } from "./service/checks.js";
import { type Consumers, replaySince, startConsumers } from "./service/consumers.js";
import { openControl } from "./service/control.js";
import { openEndpoints } from "./service/endpoints.js";
import { createFailedRecords } from "./service/failed-records.js";
import { createFaults } from "./service/faults.js";
import { openKept } from "./service/journal-and-sessions.js";
import { type Maintenance, startMaintenance } from "./service/maintenance.js";
import { openBase } from "./service/metadata-and-directory.js";
import { type ListenerName, listenerAddresses } from "./service/mqtt-listeners.js";
import { createRefill } from "./service/refill.js";
import { openSeries } from "./service/series.js";
import { createStatus, createTroubles } from "./service/status.js";
import { createStamp } from "./views/time.js";

/** The addresses of the listeners, null where one is off. */
export interface Service extends Readonly<Record<ListenerName, string | null>> {
  readonly http: string;
  /** Reads the TLS certificate again; connections stay. */
  reload(): Promise<void>;
  /** Stops listening, finishes what is in flight, commits and closes. */
  close(): Promise<void>;
}

/** Opens every store, wires the pipelines and listens. `fatal` is called when the service cannot go on. */
export async function serve(
  config: Config,
  log: Logger,
  fatal: (error: Error) => void,
  clock: Clock = systemClock,
): Promise<Service> {
  const { now } = clock;
  const dir = config.dataDir;
  const brokerSettings = await readBrokerSettings(config);
  const damage = createDamageLog(({ what, ...where }) => log.error(`damage: ${what}`, where));
  const base = await openBase(config, log, clock, fatal);
  const { db, devices, authority, directory, authenticator, catalog, meter } = base;
  const troubles = createTroubles();
  const refill = createRefill(log);
  const series = await openSeries(config, db, {
    ...{ fatal, log, note: troubles.note, onDamage: damage.report, onGap: refill.fill },
  });
  const onFailed = createFailedRecords(log, meter, clock.monotonic);
  const faults = createFaults(log, clock.monotonic);
  const oldest = (): number =>
    config.pointRetentionDays === 0 ? 0 : (now() - config.pointRetentionDays * dayMs) * 1000;
  const aside = await openAsideKeeper({ config, db, log, troubles, oldest, now });
  const kept = await openKept({ config, base, series, damage, onFailed, aside, log, faults, now });
  const { journal, events, saved } = kept;

  const presence = createPresence(db, config.nodeNumber);
  const live = createLiveFeed();
  const gate = createHistoryGate();
  base.follow(gate.changed);
  let consumers: Consumers | null = null;
  let maintenance: Maintenance | null = null;
  let closing = false;
  const settledID = (): number => consumers?.series.settledID ?? 0;
  const accept = createAccept(journal, meter, () => maintenance?.backlogFull ?? false);
  const status = createStatus({
    ...{ journal, meter, live, damage, troubles, settledID, monotonic: clock.monotonic },
    alertsID: () => consumers?.alerts.settledID ?? 0,
    setAside: aside.counts,
    heldBytes: () => kept.spaces.held.total,
    removals: () => maintenance?.removals ?? { left: 0, done: 0 },
    stopped: () => accept.stopped,
    closing: () => closing,
  });
  const place = zone(config.timezone);
  const { oldestTime: earliest } = config;
  const rules = () => ({ local: localTimeIn(place), earliest, oldest: oldest() });
  if (!config.holdSeries) {
    const parts = { config, base, journal, series, presence, status, aside, gate };
    consumers = await startConsumers({ ...parts, rules, onFailed, onStored: live.publish, clock, fatal });
    refill.begin({ journal, consumer: consumers.series });
  }
  const checks = createChecks({ config, kept, series, report: damage.report, log });
  maintenance = startMaintenance({
    ...{ config, db, journal, events, series, presence, checks, settledID, log, now },
    sessions: { save: kept.save, end: kept.endExpired, savedID: () => saved.savedID },
    savedID: () => consumers?.alerts.savedID ?? 0,
    followed: base.followed,
    historySettled: gate.settled,
    watchClock: createClockWatch(clock, log, status.clockJumped),
  });

  const parts = { config, base, kept, accept, log };
  const places = placesFor(openFilesMax(), {
    http: config.httpConnectionsMax,
    mqtt: config.mqttConnectionsMax,
  });
  if (places.http < config.httpConnectionsMax) {
    log.warn("the limit of open files leaves few connections; raise it (ulimit -n)", { ...places });
  }
  const endpoints = await openEndpoints({
    ...{ ...parts, faults, clock, brokerSettings, presence, status, connectionsMax: places.mqtt },
  });
  const { listeners, broker } = endpoints;
  const refs = createSeriesRefs();
  const { timezone } = config;
  const space = createDiskSpace(join(dir, "tasks"), () => spareBytes(dir, config.freeBytesMin));
  const history = {
    space,
    db,
    meter,
    series,
    refs,
    gate,
    events,
    directory,
    earliest,
    oldest,
    now,
    timezone,
    rules,
    onFailed,
    isAside: (id: number) => aside.isAside("series", id),
  };
  const control = await openControl({ ...parts, now, broker, history, space, zone: place });
  const app = createApp({
    ...{
      config,
      db,
      devices: { ...devices, settlePresence: presence.settle },
      events,
      series,
      live,
      refs,
      catalog,
      authenticator,
      authority,
      log,
      status,
      aside,
      now,
    },
    answers: createAnswerRoom(config.answerBytesMax, meter),
    ...{ tasks: control.tasks, commands: control.commands, brokerAccess: endpoints.brokerAccess },
    brokers: { host: config.publicHost ?? config.host, ports: listeners.ports },
    zone: place,
    stamp: createStamp(place),
    resettle: (sinceMs) => replaySince(journal, consumers?.series, sinceMs),
    ingestOf: async (id) => consumers?.alerts.ingestOf(id),
    settleAlerts: async (of) => consumers?.alerts.settle(of),
  });
  const http = await listenHttp(app.fetch, {
    ...{ config, log, meter, monotonic: clock.monotonic, connectionsMax: places.http },
  });
  const addresses = { http: http.address, ...listenerAddresses(config.host, listeners.ports) };
  const addressFile = join(dir, "service.json");
  await writeFile(addressFile, JSON.stringify({ http: http.address, pid: process.pid }), { mode: 0o600 });
  await writeFile(join(dir, "authority.crt"), authority.root);
  log.info("listening", addresses);

  return {
    ...addresses,
    reload: listeners.reload,
    close: async () => {
      closing = true;
      refill.stop();
      live.close();
      http.stop();
      listeners.stopListening();
      broker?.stopReading();
      // What was taken is acknowledged before the connections end; a disk that takes nothing is not waited for.
      await kept.committed();
      // A task that sends to devices must not find them gone.
      await control.stop();
      broker?.close();
      kept.wills.close();
      await kept.sessions.endAll("shutdown");
      await listeners.close();
      await http.closed();
      // Ends of connections settle what they held.
      await kept.committed();
      await control.close();
      // The consumers first: a closed journal has nothing to wait for.
      await consumers?.close();
      await journal.close();
      await maintenance?.close();
      checks.close();
      await kept.closeSessions();
      base.stopFollowing();
      await series.close();
      await events.close();
      await rm(addressFile, { force: true });
      base.close();
    },
  };
}

const dayMs = 86_400_000;
