import { readCheckpoint, saveCheckpoint } from "../store/checkpoints.js";
import type { Db, Statement } from "../store/db.js";
import { StoreError } from "../store/errors.js";
import type { Journal } from "../store/journal.js";
import type { JournalReader } from "../store/journal-reader.js";
import { decodeRecord, type JournalRecord, recordKinds } from "../store/journal-record.js";

/**
 * The QoS 2 messages that a session has sent and not released. They belong to the journal's state: an id is
 * checked before the append, and the set is rebuilt after a kill, so that no message is taken twice.
 */
export interface Unreleased {
  /** The session's ids; one object for the life of the session. */
  of(device: number, session: number): Map<number, UnreleasedState>;
  /** What an earlier connection of the session left, now marked inherited. */
  inherit(device: number, session: number): void;
  clear(device: number, session: number): void;
  touch(device: number, session: number): void;
  /** The journal id that the saved state stands for: what is behind it is still needed. */
  readonly savedID: number;
  /** Writes what has changed, with the journal id it stands for. */
  save(): Promise<void>;
}

/** pending: not on disk yet; kept: on disk; inherited: of an earlier connection of the session. */
export type UnreleasedState = "pending" | "kept" | "inherited";

/** Sessions remembered; the one longest untouched goes first. */
const sessionsMax = 100_000;

const consumer = "sessions";

/** Rebuilds the state from its last saved form and the journal behind it. */
export async function openUnreleased(db: Db, journal: Journal, node: number): Promise<Unreleased> {
  const sessions = new Map<string, Map<number, UnreleasedState>>();
  const dirty = new Set<string>();

  function of(device: number, session: number): Map<number, UnreleasedState> {
    const key = `${device}/${session}`;
    let ids = sessions.get(key);
    // The order of the map is the order of use.
    if (ids !== undefined) sessions.delete(key);
    ids ??= new Map();
    sessions.set(key, ids);
    if (sessions.size > sessionsMax) forgetOldest();
    return ids;
  }

  function forgetOldest(): void {
    for (const [key, ids] of sessions) {
      if (ids.size > 0 && sessions.size <= sessionsMax * 1.1) continue;
      sessions.delete(key);
      dirty.add(key);
      if (sessions.size <= sessionsMax) return;
    }
  }

  /** Sessions whose newest connection is a clean one: nothing of theirs outlives it. */
  const clean = new Set<string>();

  function replay(record: JournalRecord): void {
    const { kind, device, session, messageID } = record;
    const key = `${device}/${session}`;
    if (kind === recordKinds.uplink) {
      if (record.qos !== 2) return;
      of(device, session).set(messageID, "inherited");
    } else if (kind === recordKinds.release) {
      sessions.get(key)?.delete(messageID);
    } else if (kind === recordKinds.connect) {
      if (record.flag) clean.add(key);
      else clean.delete(key);
      if (record.flag) sessions.delete(key);
    } else if (kind === recordKinds.disconnect) {
      if (clean.has(key)) sessions.delete(key);
    } else {
      return;
    }
    dirty.add(key);
  }

  const rows = await db.all<{ device: number; session: number; messageID: number }>(
    "select device, session, messageID from unreleased where node = ?",
    [node],
  );
  for (const row of rows) of(row.device, row.session).set(row.messageID, "inherited");
  let savedID = await readCheckpoint(db, node, consumer);
  await replayBehind(await journal.read(savedID), replay);
  clean.clear();

  return {
    of,
    inherit: (device, session) => {
      const ids = sessions.get(`${device}/${session}`);
      // One that is still pending becomes kept by itself; acknowledged before that, a kill would lose it.
      for (const [id, state] of ids ?? []) if (state === "kept") ids?.set(id, "inherited");
    },
    clear: (device, session) => {
      if (sessions.delete(`${device}/${session}`)) dirty.add(`${device}/${session}`);
    },
    touch: (device, session) => {
      dirty.add(`${device}/${session}`);
    },
    get savedID() {
      return savedID;
    },
    save: async () => {
      // State and id are read together: every id in the state is at or below it once committed.
      const journalID = journal.appendedID;
      if (journalID === savedID) return;
      const changedKeys = [...dirty];
      const statements = changedKeys.flatMap((key) => saveSession(node, key, sessions.get(key)));
      dirty.clear();
      try {
        await journal.waitFor(journalID - 1);
        if (journal.committedID < journalID) {
          throw new StoreError("UNAVAILABLE", "cannot save the sessions: the journal has closed");
        }
        await db.write([...statements, saveCheckpoint(node, consumer, journalID)]);
        savedID = journalID;
      } catch (error) {
        for (const key of changedKeys) dirty.add(key);
        throw error;
      }
    },
  };
}

function saveSession(
  node: number,
  key: string,
  ids: ReadonlyMap<number, UnreleasedState> | undefined,
): Statement[] {
  const [device = 0, session = 0] = key.split("/").map(Number);
  return [
    {
      sql: "delete from unreleased where node = ? and device = ? and session = ?",
      args: [node, device, session],
    },
    ...[...(ids?.keys() ?? [])].map((messageID) => ({
      sql: "insert into unreleased (node, device, session, messageID) values (?, ?, ?, ?)",
      args: [node, device, session, messageID],
    })),
  ];
}

async function replayBehind(reader: JournalReader, replay: (record: JournalRecord) => void): Promise<void> {
  for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
    for (const at of batch.offsets) replay(decodeRecord(batch.buffer, at));
  }
  await reader.close();
}
