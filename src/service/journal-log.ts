/** The journal on other machines, as JOURNAL_URL names it. */
import { randomBytes, X509Certificate } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { BrokersReach } from "../../store/journal/kafka/brokers-reach.js";
import type { LinkSecurity } from "../../store/journal/kafka/link-security.js";
import type { PartitionLog } from "../../store/journal/kafka/partition-log.js";
import { copyAhead } from "../../store/journal/replicated/copy-ahead.js";
import { keepInLog } from "../../store/journal/replicated/replicated-segments.js";
import { segmentSuffix } from "../../store/journal/segment-head.js";
import type { SegmentKeeping } from "../../store/journal/segment-keeping.js";
import { onAbort } from "../../store/lib/abortable.js";
import { asError, StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import { type JournalTopic, keepJournalTopic, readJournalTopic } from "../../store/metadata/journal-topic.js";
import { type Config, ConfigError } from "../config/config.js";
import type { JournalSettings } from "../config/journal.js";
import { parsed, readSetting } from "../config/setting-files.js";
import { newOwner } from "../host/process-owner.js";
import type { Logger } from "../observability/log.js";

/** Takes the logs of single shards. */
export interface JournalLogs {
  /**
   * Takes the shard's log from its former owner; its copy is in `dir`. `onEnded` is called once if it takes nothing
   * more for good; `signal` ends the taking early. @throws ConfigError, StoreError UNAVAILABLE
   */
  keep(
    shard: number,
    dir: string,
    onEnded: (reason: Error) => void,
    signal: AbortSignal,
  ): Promise<SegmentKeeping>;
  /** Copies the shard's log to `dir` while another process has it. @throws as `keep` */
  copyAhead(shard: number, dir: string, signal: AbortSignal): Promise<void>;
  /** Whether the machines are there that keep them. */
  readonly brokers: BrokersReach;
}

interface LogsDeps {
  readonly config: Pick<Config, "dataDir" | "journal">;
  readonly db: Db;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Ends the opening early. */
  readonly stopping: AbortSignal;
}

/** Ten thousand messages; more would not be faster, and is what each broker holds in memory at once. */
const frameBytesMax = 1 << 20;
const replicas = 3;
/** After this time the reason is logged why nothing is kept; the append itself is retried further. */
const appendTimeMs = 3000;
const clientID = "tidemark";

/**
 * Null if the journal is kept on this machine alone. @throws ConfigError if the topic does not serve, or the deployment's
 * journal is in another one; StoreError UNAVAILABLE
 */
export async function openJournalLogs(deps: LogsDeps): Promise<JournalLogs | null> {
  const { config, db, log, now, stopping } = deps;
  const { dataDir, journal } = config;
  const known = await readJournalTopic(db);
  if (journal === null) {
    if (known === undefined) return null;
    throw new ConfigError([
      `JOURNAL_URL: is not set, and the deployment's journal is in topic ${known.topic}`,
    ]);
  }
  await refuseLocalJournal(dataDir);
  // A deployment with its journal on one machine need not load the client.
  const [{ createBrokersReach }, { openPartition }, { prepareTopic }] = await Promise.all([
    import("../../store/journal/kafka/brokers-reach.js"),
    import("../../store/journal/kafka/partition.js"),
    import("../../store/journal/kafka/topic.js"),
  ]);
  const { brokers, topic, shards: partitions, acceptsUnflushed } = journal;
  const security = await readSecurity(journal);
  const place = { brokers, topic, clientID, frameBytesMax, security };
  const open = (partition: number): PartitionLog => openPartition({ ...place, partition, appendTimeMs });
  const prepared = await prepareTopic({ ...place, partitions, replicas, acceptsUnflushed }, stopping).catch(
    refuseUnfit,
  );
  const { deployment, topicID } = await openTopic(db, now(), known, { topic, ...prepared }, () =>
    isEmpty(open, partitions, stopping),
  );
  if (acceptsUnflushed) log.warn("journal: an acknowledgement means on two machines, not yet on their disks");
  const owner = newOwner();
  const onTrouble = (error: Error): void => log.warn(`journal: ${error.message}`);
  return {
    brokers: createBrokersReach(place),
    keep: (shard, dir, onEnded, signal) =>
      keepInLog({
        dir,
        log: open(shard),
        name: { topicID, partition: shard },
        claimant: { deployment, shard, owner },
        frameBytesMax,
        now,
        onEnded,
        onTrouble,
        signal,
      }).catch(refuseUnfit),
    copyAhead: (shard, dir, stopped) =>
      copyAhead({
        dir,
        log: open(shard),
        name: { topicID, partition: shard },
        claimant: { deployment, shard },
        onTrouble,
        signal: stopped,
      }).catch(refuseUnfit),
  };
}

/** Its records would be passed over, and its sessions. */
async function refuseLocalJournal(dataDir: string): Promise<void> {
  const dir = join(dataDir, "journal");
  const names = await readdir(dir).catch(() => []);
  if (!names.some((name) => name.endsWith(segmentSuffix))) return;
  throw new ConfigError([
    `JOURNAL_URL: ${dir} holds a journal that is kept on this disk alone (docs/kafka-journal.md, "Not promised")`,
  ]);
}

/** @throws ConfigError if the file of JOURNAL_CA cannot be read, or holds no certificate */
async function readSecurity({ security: { tls, sasl }, caPath }: JournalSettings): Promise<LinkSecurity> {
  if (!tls) return { tls: null, sasl };
  if (caPath === null) return { tls: { ca: null }, sasl };
  const ca = await readSetting("JOURNAL_CA", caPath);
  parsed("JOURNAL_CA", caPath, "a certificate", () => new X509Certificate(ca));
  return { tls: { ca }, sasl };
}

/** A fault of the topic is a fault of the setting; a broker that is away may come back. */
function refuseUnfit(error: unknown): never {
  // These may pass: another process may be releasing the log at this moment.
  const passes: readonly string[] = ["UNAVAILABLE", "NOT_FOUND"];
  const isSetting = error instanceof StoreError && !passes.includes(error.code);
  throw isSetting ? new ConfigError([`JOURNAL_URL: ${error.message}`]) : asError(error);
}

type Found = Omit<JournalTopic, "deployment">;

async function openTopic(
  db: Db,
  now: number,
  known: JournalTopic | undefined,
  found: Found,
  isNew: () => Promise<boolean>,
): Promise<JournalTopic> {
  // Another process of the deployment may have begun the topic since `known` was read.
  const saved = known ?? (await readJournalTopic(db));
  if (saved === undefined && !(await isNew()) && (await readJournalTopic(db)) === undefined)
    throw new ConfigError([
      `JOURNAL_URL: topic ${found.topic} holds a journal already, and it is not that of this deployment`,
    ]);
  const deployment = randomBytes(16).toString("hex");
  const chosen = saved ?? (await keepJournalTopic(db, now, { deployment, ...found }));
  if (chosen.topicID === found.topicID && chosen.clusterID === found.clusterID) return chosen;
  const is = `topic ${found.topic} (${found.topicID}) of cluster ${found.clusterID}`;
  const was = `topic ${chosen.topic} (${chosen.topicID}) of cluster ${chosen.clusterID}`;
  throw new ConfigError([`JOURNAL_URL: is ${is}, and this deployment's journal is in ${was}`]);
}

async function isEmpty(
  open: (partition: number) => PartitionLog,
  partitions: number,
  stopping: AbortSignal,
): Promise<boolean> {
  for (let partition = 0; partition < partitions; partition++) {
    const log = open(partition);
    const stopListening = onAbort(stopping, log.close);
    try {
      if ((await log.end()) > 0) return false;
    } finally {
      stopListening();
      log.close();
    }
  }
  return true;
}
