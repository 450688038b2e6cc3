import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { alertsConsumer } from "../../ingest/alerts/state-writer.js";
import type { OnFailed } from "../../ingest/followers/failures.js";
import { mayPublish } from "../../ingest/policies.js";
import { sessionBounds } from "../../ingest/sessions/bounds.js";
import { type Connections, createConnections } from "../../ingest/sessions/connections.js";
import { forgetDeletedSessions } from "../../ingest/sessions/deleted.js";
import type { HeldBytes } from "../../ingest/sessions/held-bytes.js";
import { openSessions, publishLate, type SavedSessions } from "../../ingest/sessions/open.js";
import { createSessionRecords, type SessionRecords } from "../../ingest/sessions/records.js";
import type { SessionRegistry } from "../../ingest/sessions/session-registry.js";
import { startWills, type Wills } from "../../ingest/sessions/wills.js";
import { createWorkPart, type WorkBudget } from "../../ingest/uplinks/work-budget.js";
import type { EventLog, EventLogKeeping } from "../../store/events/events.js";
import type { Journal } from "../../store/journal/journal.js";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { type Closers, createClosers } from "../../store/lib/closers.js";
import { createListenerSet } from "../../store/lib/listeners.js";
import { readCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Db } from "../../store/metadata/db/db.js";
import { existingDevices } from "../../store/metadata/devices/access.js";
import { lastIngestedID } from "../../store/metadata/devices/ingest.js";
import { clearPresence } from "../../store/metadata/devices/presence.js";
import { isCutOff, restoreSnapshot } from "../../store/mqtt-sessions/journal-snapshot.js";
import type { SessionFileThread } from "../../store/mqtt-sessions/session-file-thread.js";
import { openSessionStore, type SessionStore } from "../../store/mqtt-sessions/session-store.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { Receipts } from "../commands/receipts.js";
import { ConfigError } from "../config/config.js";
import { shardDir } from "../host/shard-folders.js";
import { spareBytes } from "../http/disk-space.js";
import type { DeadLetterManager } from "./dead-letters.js";
import type { JournalLogs } from "./journal-log.js";
import type { MetadataLayer } from "./metadata-layer.js";
import { createSessionSnapshots, isFarBehind, type SessionSnapshots } from "./session-snapshots.js";
import { type FilesDeps, journalDir, openShardFiles, type ShardPlace, troubleLog } from "./shard-files.js";
import { readSessionContext } from "./trial/session-context.js";

/**
 * A journal, and the state derived from it: the event index and the sessions of devices. Each device belongs to one
 * shard; its number, 0 to 999, is in the ids of its records and in the rows of what follows from them.
 */
export interface Shard {
  readonly number: number;
  /** Holds its files. */
  readonly dir: string;
  readonly journal: Journal;
  readonly events: EventLog;
  readonly registry: SessionRegistry;
  readonly saved: SavedSessions;
  /** Null: the journal is on this machine alone, and so is the sessions' file. */
  readonly snapshots: SessionSnapshots | null;
  readonly records: SessionRecords;
  readonly connections: Connections;
  readonly wills: Wills;
  /** The budget of work that records on their way may cause. */
  readonly work: WorkBudget;
  /** The end of the previous run: its last record and that record's time, microseconds since 1970. */
  readonly earlier: { readonly lastID: number; readonly endedAt: number };
  /** Calls `afterCommit` after each commit of the journal. */
  onCommit(afterCommit: () => void): void;
  /** Calls the listener once the journal is closed, until the returned function is called. */
  onClosed(listener: () => void): () => void;
  /** Waits until everything appended is on disk, unless the journal takes nothing. */
  committed(): Promise<void>;
  /** Saves the sessions, once the outcome of their receipts is stored. */
  save(): Promise<void>;
  /** Drops expired messages, and the sessions that have expired by this time, milliseconds since 1970. */
  endExpired(by: number): Promise<void>;
  /** Replaces the sessions' file, in which a check has found a fault, with the state in memory. */
  remakeSessions(fault: string): Promise<void>;
  /** Closes the journal and what follows from it, and holds nothing more of what shards share. */
  close(): Promise<void>;
}

/** What the shards of a process share. */
interface ShardDeps extends FilesDeps {
  readonly metadata: MetadataLayer;
  /** Null: the journal is on this machine alone. */
  readonly logs: JournalLogs | null;
  readonly series: Pick<SeriesStore, "checkpoint">;
  readonly onFailed: OnFailed;
  readonly aside: DeadLetterManager;
  /** The budget of work that records on their way may cause, in all shards together. */
  readonly work: WorkBudget;
  readonly receipts: Receipts;
  /** The bytes that sessions hold. */
  readonly held: HeldBytes;
  readonly sessionThread: SessionFileThread;
  /** Called when a shard's journal takes nothing more for good. */
  readonly onEnded: (shard: number, reason: Error) => void;
}

/** What belongs to the opening of one shard. */
export interface Opening {
  /** The metadata for what follows from the shard's records. */
  readonly db: Db;
  /** Ends it early as long as its log is still to be taken, or its events to be indexed. */
  readonly signal: AbortSignal;
}

type OpeningDeps = ShardDeps & Opening;

/** @throws ConfigError for a journal of another shard: its followers would look for their places under a wrong number */
function refuseOther(place: ShardPlace, { committedID }: Journal): void {
  const found = shardOfID(committedID);
  if (found === place.number) return;
  const recordedAs = `${journalDir(place)} was kept under ${found}`;
  throw new ConfigError([`NODE_NUMBER: is ${place.number}, and ${recordedAs}: set that one`]);
}

/**
 * Opens the journal and brings its followers up to its end; journals the end of connections that a killed run, here or
 * on another machine, left open. If it rejects, nothing of the shard is left open.
 */
export async function openShard(number: number, deps: ShardDeps, opening: Opening): Promise<Shard> {
  const closers = createClosers();
  try {
    return await openParts(number, { ...deps, ...opening }, closers);
  } catch (error) {
    await closers.close().catch(troubleLog(deps.log)("shard"));
    throw error;
  }
}

async function openParts(number: number, deps: OpeningDeps, closers: Closers): Promise<Shard> {
  const { metadata, db, aside, receipts, log, now } = deps;
  const { directory } = metadata;
  const trouble = troubleLog(log);
  const commits = createListenerSet<[]>();
  const closed = createListenerSet<[]>();
  const place = { number, dir: shardDir(deps.config, number) };
  closers.add(async () => aside.forget(number));
  await aside.open(number);
  await mkdir(place.dir, { recursive: true });
  await clearPresence(db, number);
  const { journal, events } = await openShardFiles(place, deps, closers, {
    keep: async () =>
      deps.logs?.keep(number, journalDir(place), (reason) => deps.onEnded(number, reason), deps.signal),
    onCommit: commits.tell,
  });
  refuseOther(place, journal);
  const { store, saved, snapshots, earlier } = await openSavedSessions(place, deps, closers, journal, events);
  const { registry } = saved;
  await forgetDeletedSessions(registry, (ids) => existingDevices(db, ids));
  const work = createWorkPart(deps.work);
  let started: Wills | null = null;
  const records = createSessionRecords(journal, registry, now, () => started?.look(), work);
  // Connections that a killed run left open had ended by the time of its last record.
  records.disconnectKilled(earlier.endedAt);
  const wills = startWills({
    registry,
    records,
    work,
    now,
    onTrouble: trouble("wills"),
    refuses: async (device, topic) => {
      const entry = await directory.get(device);
      return entry !== undefined && !mayPublish(entry, topic);
    },
  });
  started = wills;
  closers.add(async () => wills.close());
  const connections = createConnections({ registry, now });
  const unfollow = [
    directory.onDevice((id, entry) => connections.check(id, entry)),
    directory.onSubscriptions((entry) =>
      connections.subscribeByPlatform(entry.id, directory.platformSubscriptions(entry)),
    ),
  ];
  const save = (): Promise<void> => saved.save(receipts.stored);

  return {
    ...place,
    journal,
    events,
    registry,
    saved,
    snapshots,
    records,
    connections,
    wills,
    work,
    earlier,
    save,
    onCommit: commits.add,
    onClosed: closed.add,
    committed: async () => {
      const target = journal.appendedID;
      while (journal.committedID < target && journal.stopped === null) {
        if (!(await journal.waitFor(journal.committedID))) return;
      }
    },
    endExpired: async (by) => {
      await registry.expire(by * 1000);
      await records.expireMessages();
    },
    remakeSessions: saved.remake,
    close: async () => {
      for (const stop of unfollow) stop();
      wills.close();
      try {
        await journal.close();
      } finally {
        closed.tell();
      }
      await save().catch(trouble("sessions"));
      await store.close();
      await events.close();
      await registry.letGo();
      work.end();
      aside.forget(number);
    },
  };
}

/** The snapshot of the sessions, and the journal's records after it. */
async function openSavedSessions(
  place: ShardPlace,
  deps: OpeningDeps,
  closers: Closers,
  journal: Journal,
  events: EventLogKeeping,
) {
  const { config, metadata, damage, aside, held, sessionThread, onFailed, logs, now, signal } = deps;
  let running = false;
  /** False once the snapshot was restored: if that is damaged too, it is not used a second time. */
  let mayRestore = logs !== null;
  const file = join(place.dir, "sessions.db");
  const onDamage = (fault: string, quarantined: string): void => {
    const read = mayRestore ? "made again from the journal" : readAgain(journal);
    const again = running ? "written again from memory: nothing is lost" : read;
    const what = `${fault}; put aside as ${quarantined} and ${again}`;
    damage.report({ part: "sessions", file, what, lostBytes: 0 });
  };
  const store = await openSessionStore(file, onDamage, sessionThread);
  closers.add(store.close);
  const scratch = `${file}.snapshot`;
  if (logs !== null) {
    // A killed run may have left it.
    await rm(scratch, { force: true });
    await restoreIfBehind(place, deps, store, journal, scratch);
  }
  const followers = { "the event index": events.lastIndexedID, sessions: await store.savedID() };
  await beginAboveFollowers(place, deps, journal, {
    ...followers,
    ...(await checkpoints(place.number, deps)),
  });
  await events.attach(journal, signal);
  const earlier = { lastID: journal.committedID, endedAt: journal.lastReceivedAt };

  const isolate = aside.narrow(place, "sessions", (record) => readSessionContext(store, journal, record));
  const bounds = { ...sessionBounds, outgoingMessagesMax: config.sessionQueueMessagesMax, held };
  const spare = (): Promise<number> => spareBytes(config.dataDir, config.freeBytesMin);
  const snapshots =
    logs === null ? null : createSessionSnapshots({ store, journal, file, scratch, spare, now });
  const remade: SessionStore = {
    ...store,
    remake: async (fault) => {
      await store.remake(fault);
      snapshots?.forget();
      if (running || !mayRestore) return;
      mayRestore = false;
      await restoreIfBehind(place, deps, store, journal, scratch);
    },
  };
  const saved = await openSessions(remade, journal, metadata.meter, { onFailed, narrow: isolate }, bounds);
  closers.add(saved.registry.letGo);
  aside.replaysBy(place.number, "sessions", async (record) => publishLate(saved.registry, record));
  running = true;
  return { store, saved, snapshots, earlier };
}

/** The newest snapshot has what the journal has released while another machine had it, and much of the rest. */
async function restoreIfBehind(
  { number }: ShardPlace,
  { damage, log }: ShardDeps,
  store: SessionStore,
  journal: Journal,
  scratch: string,
): Promise<void> {
  const savedID = await store.savedID();
  const isLost = isCutOff(journal, savedID);
  if (!isLost && !isFarBehind(journal, savedID)) return;
  const found = await restoreSnapshot(store, journal, scratch);
  if (found) log.info("sessions taken from their snapshot in the journal", { shard: number });
  else if (isLost) {
    const what = `they are saved up to record ${savedID}, and the journal has no snapshot of them: ${readAgain(journal)}`;
    damage.report({ part: "sessions", file: scratch, what, lostBytes: 0 });
  }
}

/** The journal ids up to which effects elsewhere are stored. */
async function checkpoints(
  number: number,
  { metadata: { db }, series }: ShardDeps,
): Promise<Record<string, number>> {
  return {
    "the series store": await series.checkpoint(number),
    alerts: await readCheckpoint(db, number, alertsConsumer),
    "the devices' counters": await lastIngestedID(db, number),
  };
}

/**
 * If effects are ahead of the journal's end, acknowledged records are lost. The service continues without them and
 * skips their ids, because a follower that has seen those ids would ignore new records under them.
 */
async function beginAboveFollowers(
  place: ShardPlace,
  { damage }: ShardDeps,
  journal: Journal,
  followers: Readonly<Record<string, number>>,
): Promise<void> {
  const end = journal.committedID;
  if (!(await journal.beginAbove(...Object.values(followers)))) return;
  const ahead = Object.entries(followers).filter(([, id]) => id > end);
  const named = ahead.map(([name, id]) => `${name} at ${id}`).join(", ");
  const what = `its end is lost: it ends at record ${end}, with ${named}; new ids begin at ${journal.committedID + 1}`;
  damage.report({ part: "journal", file: journalDir(place), what, lostBytes: 0 });
}

/** How far a start can rebuild sessions whose file cannot be read. */
function readAgain({ segments: [oldest] }: Journal): string {
  const since = oldest === undefined ? "now" : new Date(oldest.createdAt).toISOString();
  return `made again from the journal, which begins at ${since}: subscriptions, queued and retained messages and wills from before are lost`;
}
