import { listRecordDevices } from "../../../ingest/sessions/replay.js";
import { peekRecord } from "../../../store/journal/frame.js";
import type { Journal } from "../../../store/journal/journal.js";
import type { JournalRecord } from "../../../store/journal/record.js";
import { copyRecord, decodeRecord } from "../../../store/journal/record-codecs.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import type { SavedRows } from "../../../store/mqtt-sessions/session-rows.js";
import type { SessionStore } from "../../../store/mqtt-sessions/session-store.js";

/** The input of a replay of one record into the sessions: everything held for the devices that it changes. */
interface SessionContext {
  readonly saved: SavedRows;
  /** The records of these devices after the saved state and before this record. */
  readonly before: JournalRecord[];
}

export async function readSessionContext(
  store: Pick<SessionStore, "load" | "savedID">,
  journal: Pick<Journal, "read">,
  record: JournalRecord,
): Promise<SessionContext> {
  const devices = new Set(readable(record));
  return {
    saved: selectSaved(await store.load(), devices),
    before: await readRecords(journal, await store.savedID(), record.id, devices),
  };
}

/** A record whose recipients cannot be read changes no device. */
function readable(record: Parameters<typeof listRecordDevices>[0]): number[] {
  try {
    return listRecordDevices(record);
  } catch {
    return [];
  }
}

function selectSaved(
  { sessions, messages, retained, wills }: SavedRows,
  devices: ReadonlySet<number>,
): SavedRows {
  const isTheirs = (row: { readonly device: number }): boolean => devices.has(row.device);
  return {
    sessions: sessions.filter(isTheirs),
    messages: messages.filter(isTheirs),
    retained: retained.filter(isTheirs),
    wills: wills.filter(isTheirs),
  };
}

async function readRecords(
  journal: Pick<Journal, "read">,
  afterID: number,
  endID: number,
  devices: ReadonlySet<number>,
): Promise<JournalRecord[]> {
  const found: JournalRecord[] = [];
  const reader = await journal.read(afterID);
  for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
    for (const at of batch.offsets) {
      const peeked = peekRecord(batch.buffer, at);
      if (peeked.id >= endID) break;
      // Only a message to several devices names other devices than its own.
      if (peeked.kind !== recordKinds.downlinks && !devices.has(peeked.device)) continue;
      const record = decodeRecord(batch.buffer, at, batch.topics);
      if (readable(record).some((device) => devices.has(device))) found.push(copyRecord(record));
    }
    if (reader.lastID >= endID) break;
  }
  await reader.close();
  return found;
}
