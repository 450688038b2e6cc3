import { join } from "node:path";
import { mayPublish } from "../../ingest/policies.js";
import { forgetDeparted } from "../../ingest/sessions/departed.js";
import { createSessions, type Sessions } from "../../ingest/sessions/live.js";
import { openSpaces, type SavedSpaces } from "../../ingest/sessions/open.js";
import { createSessionRecords, type SessionRecords } from "../../ingest/sessions/records.js";
import type { Spaces } from "../../ingest/sessions/spaces.js";
import { startWills, type Wills } from "../../ingest/sessions/wills.js";
import { existingDevices } from "../../store/device-access.js";
import { type EventLog, openEventLog } from "../../store/events.js";
import { type Journal, openJournal } from "../../store/journal.js";
import { openSessionStore } from "../../store/session-store.js";
import type { Config } from "../config.js";
import { createReceipts, type Receipts } from "../control/receipts.js";
import type { Logger } from "../log.js";
import type { Base } from "./base.js";

/** The journal, and what is a function of it: the event index and the sessions of devices. */
export interface Kept {
  readonly journal: Journal;
  readonly events: EventLog;
  readonly spaces: Spaces;
  readonly saved: SavedSpaces;
  readonly records: SessionRecords;
  readonly sessions: Sessions;
  readonly receipts: Receipts;
  readonly wills: Wills;
  /** Where the run before this one ended: its last record and that one's time, microseconds since 1970. */
  readonly earlier: { readonly lastID: number; readonly endedAt: number };
  /** Calls `afterCommit` after each commit of the journal. */
  onCommit(afterCommit: () => void): void;
  /** Waits until all that was appended is on disk, unless the journal takes nothing. */
  committed(): Promise<void>;
  /** Saves the sessions, with what has become of their receipts stored first. */
  save(): Promise<void>;
  /** Drops sessions and messages whose time is over. */
  endExpired(): void;
  closeSessions(): Promise<void>;
}

const segmentBytesMax = 64 * 1024 * 1024;
const segmentAgeMaxMs = 3_600_000;
const pendingBytesMax = 32 * 1024 * 1024;

/** Opens the journal and brings what follows it up to its end; connections of a killed run are closed on record. */
export async function openKept(config: Config, base: Base, log: Logger, now: () => number): Promise<Kept> {
  const { db, directory, meter } = base;
  const dir = config.dataDir;
  const trouble = (part: string) => (error: Error) => log.warn(`${part}: ${error.message}`);
  const events = await openEventLog(join(dir, "events.db"), trouble("event index"));
  const afterCommit: (() => void)[] = [];
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
      for (const after of afterCommit) after();
    },
    onTrouble: trouble("journal"),
  });
  await events.attach(journal);
  const earlier = { lastID: journal.committedID, endedAt: journal.lastStamp };

  const store = await openSessionStore(join(dir, "sessions.db"));
  const saved = await openSpaces(store, journal, meter);
  const { spaces } = saved;
  await forgetDeparted(spaces, (ids) => existingDevices(db, ids));
  let started: Wills | null = null;
  const records = createSessionRecords(journal, spaces, now, () => started?.look());
  // What a killed run left open had ended by the time of its last record.
  records.disconnectKilled(earlier.endedAt);
  const wills = startWills({
    ...{ spaces, records, now, onTrouble: trouble("wills") },
    refuses: async (device, topic) => {
      const entry = await directory.get(device);
      return entry !== undefined && !mayPublish(entry, topic);
    },
  });
  started = wills;
  const sessions = createSessions({ spaces, now });
  directory.onDevice((id, entry) => sessions.check(id, entry));
  directory.onSubscriptions((entry) =>
    sessions.subscribeByPlatform(entry.id, directory.platformSubscriptions(entry)),
  );
  const receipts = createReceipts({ db, log, now });
  const save = (): Promise<void> => saved.save(receipts.stored);

  return {
    ...{ journal, events, spaces, saved, records, sessions, receipts, wills, earlier, save },
    onCommit: (after) => {
      afterCommit.push(after);
    },
    committed: async () => {
      const target = journal.appendedID;
      while (journal.committedID < target && journal.stopped === null) {
        await journal.waitFor(journal.committedID);
      }
    },
    endExpired: () => {
      spaces.expire(now() * 1000);
      records.expireMessages();
    },
    closeSessions: async () => {
      await save().catch(trouble("sessions"));
      store.close();
    },
  };
}
