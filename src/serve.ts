import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ShardHolders } from "../ingest/directory/by-shard.js";
import { type Clock, systemClock } from "../store/lib/clock.js";
import { zoneVersionWarning } from "../store/time-zones/age.js";
import { useTimeZones } from "../store/time-zones/in-use.js";
import { checkBackupSettings } from "./backup/backups.js";
import { type Config, seriesEngine } from "./config/config.js";
import { readBuildInfo } from "./host/build-info.js";
import { newOwner } from "./host/process-owner.js";
import { replaceFile } from "./host/replace-file.js";
import type { Logger } from "./observability/log.js";
import { readBrokerSettings } from "./service/broker.js";
import { logChangedFormulas } from "./service/formula-notice.js";
import { type MovingShards, startMovingShards } from "./service/moving-shards.js";
import { type ListenerName, listenerAddresses } from "./service/mqtt-listeners.js";
import { startPipelines } from "./service/pipelines.js";
import { openServers } from "./service/servers.js";
import { openStorage } from "./service/storage.js";

/** The addresses of the listeners; null for one that is off. */
export interface Service extends Readonly<Record<ListenerName, string | null>> {
  readonly http: string;
  readonly https: string | null;
  /** Reads the TLS certificate again; connections stay. */
  reload(): Promise<void>;
  /** Stops listening, finishes work in flight, commits and closes. */
  close(): Promise<void>;
}

/**
 * Opens every store, wires the pipelines and listens. Calls `fatal` if the service cannot go on. `stopping` ends what a
 * start waits for elsewhere: it then rejects, or goes on to its end.
 */
export async function serve(
  config: Config,
  log: Logger,
  fatal: (error: Error) => void,
  clock: Clock = systemClock,
  stopping: AbortSignal = new AbortController().signal,
): Promise<Service> {
  useTimeZones(config.timeZones);
  const build = await readBuildInfo();
  const { timeZones } = config;
  const facts = { engine: seriesEngine(config), node: process.version, timezones: timeZones.version };
  log.info("starting", { ...build, ...facts });
  const zoneWarning = zoneVersionWarning(timeZones.version, clock.now());
  if (zoneWarning !== null) log.warn(zoneWarning, { folder: timeZones.folder });
  const brokerSettings = await readBrokerSettings(config);
  await checkBackupSettings(config);
  let moving: MovingShards | null = null;
  const onShardEnded = (shard: number, reason: Error): void =>
    moving === null ? fatal(reason) : moving.ended(shard, reason);
  const { ownShards } = config;
  const holders: ShardHolders =
    ownShards === null
      ? { of: (shard) => moving?.holderOf(shard) ?? null, areKnown: () => moving?.areHoldersKnown() ?? false }
      : // Where each node keeps its own journal, its shard has its number.
        { of: (shard) => (ownShards.includes(shard) ? null : shard), areKnown: () => true };
  const identity =
    ownShards === null && config.cluster !== null
      ? { number: config.cluster.self.number, owner: newOwner() }
      : null;
  const storage = await openStorage(config, log, clock, fatal, onShardEnded, stopping, identity);
  const { db } = storage.metadata;
  await logChangedFormulas(db, log);
  const pipelines = await startPipelines({
    storage,
    config,
    build,
    log,
    clock,
    fatal,
    holders,
  });
  const servers = await openServers({
    config,
    build,
    brokerSettings,
    storage,
    pipelines,
    log,
    clock,
    shardNews: {
      look: async () => moving?.refresh(),
      gives: (node, shard) => moving?.gives(node, shard),
      // Before it has looked it does not know which are to be its own.
      copyAhead: async (shard) => (await moving?.copyAhead(shard)) ?? false,
    },
    holderOf: holders.of,
  });
  const { brokers } = storage;
  if (identity !== null && config.cluster !== null && servers.cluster !== null && brokers !== null) {
    moving = await startMovingShards({
      settings: config.cluster,
      identity,
      shards: config.shards.length,
      db,
      brokers,
      set: pipelines.moving,
      copyShard: storage.copyShardAhead,
      cluster: servers.cluster,
      clock,
      log,
      fatal,
    });
    // The owners of the shards are known from here on.
    pipelines.moving.pipelines.look();
  }
  const { http, https, listeners } = servers;
  const addresses = { http, https, ...listenerAddresses(config.host, listeners.ports) };
  const addressFile = join(config.dataDir, "service.json");
  await replaceFile(addressFile, JSON.stringify({ http, pid: process.pid }));
  await writeFile(join(config.dataDir, "authority.crt"), storage.metadata.authority.root);
  log.info("listening", { ...addresses, console: `${http}/console/` });

  return {
    ...addresses,
    reload: servers.reload,
    close: async () => {
      pipelines.beginClosing();
      await servers.leaveBroker();
      // Until this resolves, other nodes take over the shards of this one, and requests for them are forwarded.
      await moving?.close();
      pipelines.endTelling();
      await servers.close();
      await pipelines.close();
      await storage.close();
      await rm(addressFile, { force: true });
      await storage.metadata.close();
    },
  };
}
