import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAccept } from "../ingest/accept.js";
import { utcMicros, type WallTime } from "../ingest/decode/time.js";
import { createLiveFeed } from "../ingest/live.js";
import { createPresence } from "../ingest/presence.js";
import { createSeriesRefs } from "../query/series-refs.js";
import { type Zone, zone } from "../query/zone.js";
import { createApp } from "./app.js";
import { readBrokerSettings } from "./broker.js";
import type { Config } from "./config.js";
import { createHistoryGate } from "./history/gate.js";
import type { Logger } from "./log.js";
import { type Maintenance, startMaintenance } from "./maintenance.js";
import { type ListenerName, listenerAddresses } from "./mqtt-listeners.js";
import { openBase } from "./service/base.js";
import { type Consumers, resettle, startConsumers } from "./service/consumers.js";
import { openControl } from "./service/control.js";
import { openEndpoints } from "./service/endpoints.js";
import { listenHttp } from "./service/http.js";
import { openKept } from "./service/kept.js";
import { openSeries } from "./service/series.js";
import { createStatus } from "./status.js";
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
export async function serve(config: Config, log: Logger, fatal: (error: Error) => void): Promise<Service> {
  const now = Date.now;
  const dir = config.dataDir;
  const brokerSettings = await readBrokerSettings(config);
  const base = await openBase(config, log, now);
  const { db, devices, authority, directory, authenticator, catalog, meter } = base;
  const kept = await openKept(config, base, log, now);
  const { journal, events, saved } = kept;
  const series = await openSeries(config, db, fatal);

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
    ...{ journal, meter, live, settledID, now },
    alertsID: () => consumers?.alerts.settledID ?? 0,
    stopped: () => accept.stopped,
    closing: () => closing,
  });
  const place = zone(config.timezone);
  const oldest = (): number =>
    config.pointRetentionDays === 0 ? 0 : (now() - config.pointRetentionDays * dayMs) * 1000;
  const rules = () => ({ local: localTime(place), oldest: oldest() });
  if (!config.holdSeries) {
    const parts = { config, base, journal, series, presence, status };
    consumers = await startConsumers({ ...parts, rules, onStored: live.publish, now, fatal });
  }
  maintenance = startMaintenance({
    ...{ config, db, journal, events, series, presence, settledID, log, now },
    sessions: { save: kept.save, end: kept.endExpired, savedID: () => saved.savedID },
    savedID: () => consumers?.alerts.savedID ?? 0,
    historySettled: gate.settled,
  });

  const parts = { config, base, kept, accept, log, now };
  const endpoints = await openEndpoints({ ...parts, brokerSettings, presence, status });
  const { listeners, broker } = endpoints;
  const refs = createSeriesRefs();
  const { timezone } = config;
  const history = { db, meter, series, refs, gate, events, directory, oldest, now, timezone, rules };
  const control = await openControl({ ...parts, broker, history, zone: place });
  const app = createApp({
    ...{
      config,
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
      now,
    },
    ...{ tasks: control.tasks, commands: control.commands, brokerAccess: endpoints.brokerAccess },
    brokers: { host: config.publicHost ?? config.host, ports: listeners.ports },
    zone: place,
    stamp: createStamp(place),
    resettle: (sinceMs) => resettle(journal, consumers?.series, sinceMs),
    ingestOf: async (id) => consumers?.alerts.ingestOf(id),
    settleAlerts: async (of) => consumers?.alerts.settle(of),
  });
  const http = await listenHttp(app.fetch, config);
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

/** Wall clock times of the deployment's zone in microseconds since 1970. */
function localTime(place: Zone): (wall: WallTime) => number {
  return (wall) => {
    const micros = utcMicros(wall);
    return place.fromWall(Math.floor(micros / 1000)) * 1000 + (micros % 1000);
  };
}
