/** Journal records and journals for tests. */
import { type Journal, type JournalOptions, openJournal } from "../../../store/journal/journal.js";
import {
  decodeRecord,
  type JournalInput,
  type JournalRecord,
  recordKinds,
} from "../../../store/journal/record.js";

export function journalInput(fields: Partial<JournalInput> = {}): JournalInput {
  return {
    kind: recordKinds.uplink,
    tenant: 1,
    device: 7,
    connection: 3,
    session: 0xdeadbeef,
    messageID: 12,
    qos: 1,
    dup: false,
    retain: false,
    flag: false,
    ip: "127.0.0.1",
    topic: "data",
    extra: null,
    payload: Buffer.from('{"temp":21.5}'),
    ...fields,
  };
}

const mebi = 2 ** 20;

export function openTestJournal(dir: string, options: Partial<JournalOptions> = {}): Promise<Journal> {
  return openJournal({
    dir,
    node: 0,
    now: Date.now,
    segmentBytesMax: 64 * mebi,
    segmentAgeMaxMs: 3_600_000,
    pendingBytesMax: 32 * mebi,
    freeBytesMin: 0,
    ...options,
  });
}

/** Appends and resolves with the id once it is on disk. */
export function keep(journal: Journal, fields: Partial<JournalInput> = {}): Promise<number> {
  return new Promise((resolve) => journal.append(journalInput(fields), resolve));
}

/** Everything that a reader hands out behind `afterID`, payloads copied. */
export async function readAll(journal: Journal, afterID = 0): Promise<JournalRecord[]> {
  const reader = await journal.read(afterID);
  const records: JournalRecord[] = [];
  try {
    for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
      for (const at of batch.offsets) {
        const record = decodeRecord(batch.buffer, at, batch.topics);
        records.push({ ...record, payload: Buffer.from(record.payload) });
      }
    }
  } finally {
    await reader.close();
  }
  return records;
}

export const textOf = (record: { readonly payload: Uint8Array }): string =>
  Buffer.from(record.payload).toString("utf8");
