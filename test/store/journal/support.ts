/** Journal records and journals for tests. */
import { open } from "node:fs/promises";
import { type Journal, type JournalOptions, openJournal } from "../../../store/journal/journal.js";
import {
  isMessage,
  type JournalInput,
  type JournalRecord,
  type MessageRecord,
} from "../../../store/journal/record.js";
import { copyRecord, decodeRecord } from "../../../store/journal/record-codecs.js";
import { type RecordKind, recordKinds } from "../../../store/journal/record-kinds.js";

type InputOf<Kind extends RecordKind> = Extract<JournalInput, { readonly kind: Kind }>;

const inSession = { tenant: 1, device: 7, connection: 3, session: 0xdeadbeef, ip: "127.0.0.1" };
const nothing = Buffer.alloc(0);

const examples: { readonly [Kind in RecordKind]: InputOf<Kind> } = {
  [recordKinds.uplink]: {
    ...inSession,
    kind: recordKinds.uplink,
    messageID: 12,
    qos: 1,
    dup: false,
    retain: false,
    refused: false,
    topic: "data",
    details: null,
    payload: Buffer.from('{"temp":21.5}'),
  },
  [recordKinds.connect]: {
    ...inSession,
    kind: recordKinds.connect,
    clientID: "client",
    keepAlive: 60,
    cleanStart: false,
    details: null,
    payload: nothing,
  },
  [recordKinds.disconnect]: {
    ...inSession,
    kind: recordKinds.disconnect,
    keepAlive: 60,
    orderly: false,
    reason: "",
    details: null,
  },
  [recordKinds.denial]: { ...inSession, kind: recordKinds.denial, clientID: "client", keepAlive: 60 },
  [recordKinds.subscribe]: {
    ...inSession,
    kind: recordKinds.subscribe,
    filter: "down",
    qos: 1,
    noLocal: false,
    retainAsPublished: false,
    details: null,
  },
  [recordKinds.unsubscribe]: { ...inSession, kind: recordKinds.unsubscribe, filter: "down" },
  [recordKinds.platform]: { ...inSession, kind: recordKinds.platform, details: null },
  [recordKinds.release]: { ...inSession, kind: recordKinds.release, messageID: 12 },
  [recordKinds.received]: { ...inSession, kind: recordKinds.received, messageID: 12 },
  [recordKinds.delivered]: { ...inSession, kind: recordKinds.delivered, messageID: 12, acknowledged: true },
  [recordKinds.downlink]: {
    kind: recordKinds.downlink,
    tenant: 1,
    device: 7,
    qos: 1,
    topic: "down",
    details: null,
    payload: Buffer.from("go"),
  },
  [recordKinds.downlinks]: {
    kind: recordKinds.downlinks,
    tenant: 1,
    device: 0,
    qos: 1,
    topic: "down",
    details: null,
    payload: Buffer.from("go"),
  },
  [recordKinds.inbox]: { ...inSession, kind: recordKinds.inbox, clientID: "http", details: null },
  [recordKinds.sessionEnd]: { ...inSession, kind: recordKinds.sessionEnd, clientID: "client" },
  [recordKinds.batch]: { ...inSession, kind: recordKinds.batch, batchID: "b", refusedLines: 0 },
  [recordKinds.entry]: {
    kind: recordKinds.entry,
    tenant: 1,
    device: 7,
    ip: "127.0.0.1",
    envelope: 3,
    ordinal: 0,
    topic: "data",
    details: null,
    payload: Buffer.from("{}"),
    receivedAt: 1,
    stamp: 1,
  },
  [recordKinds.expanded]: {
    kind: recordKinds.expanded,
    tenant: 1,
    device: 7,
    ip: "127.0.0.1",
    envelope: 3,
    refusedEntries: 0,
    topic: "data",
    receivedAt: 1,
    stamp: 1,
  },
  [recordKinds.snapshotPart]: {
    kind: recordKinds.snapshotPart,
    tenant: 0,
    device: 0,
    savedID: 5,
    part: 1,
    isLast: true,
    payload: Buffer.from("rows"),
  },
};

/** Flips one bit of a byte. */
export async function flipByte(path: string, at: number, bit = 6): Promise<void> {
  const file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte[0] = (byte[0] as number) ^ (1 << bit);
  await file.write(byte, 0, 1, at);
  await file.close();
}

/** A record of a kind, an uplink where none is named, that says what is given. */
export function journalInput<Kind extends RecordKind = typeof recordKinds.uplink>(
  fields: { readonly kind?: Kind } & Partial<InputOf<Kind>> = {},
): InputOf<Kind> {
  return { ...examples[fields.kind ?? recordKinds.uplink], ...fields } as InputOf<Kind>;
}

/** As journalInput, as it is read. */
export function journalRecord<Kind extends RecordKind = typeof recordKinds.uplink>(
  id: number,
  receivedAt: number,
  fields: { readonly kind?: Kind } & Partial<InputOf<Kind>> = {},
): JournalRecord<InputOf<Kind>> {
  return { ...journalInput<Kind>(fields), id, receivedAt, stamp: receivedAt } as JournalRecord<InputOf<Kind>>;
}

const mebi = 2 ** 20;

export function openTestJournal(dir: string, options: Partial<JournalOptions> = {}): Promise<Journal> {
  return openJournal({
    dir,
    shard: 0,
    now: Date.now,
    segmentBytesMax: 64 * mebi,
    segmentAgeMaxMs: 3_600_000,
    pendingBytesMax: 32 * mebi,
    freeBytesMin: 0,
    ...options,
  });
}

/** Appends and resolves with the id once it is on disk. */
export function keep<Kind extends RecordKind = typeof recordKinds.uplink>(
  journal: Journal,
  fields: { readonly kind?: Kind } & Partial<InputOf<Kind>> = {},
): Promise<number> {
  return new Promise((resolve) => journal.append(journalInput<Kind>(fields), resolve));
}

/** Everything that a reader hands out after `afterID`, payloads copied. */
export async function readAll(journal: Journal, afterID = 0): Promise<JournalRecord[]> {
  const reader = await journal.read(afterID);
  const records: JournalRecord[] = [];
  try {
    for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
      for (const at of batch.offsets) {
        records.push(copyRecord(decodeRecord(batch.buffer, at, batch.topics)));
      }
    }
  } finally {
    await reader.close();
  }
  return records;
}

/** The messages of devices among them. */
export async function readMessages(journal: Journal, afterID = 0): Promise<MessageRecord[]> {
  return (await readAll(journal, afterID)).filter(isMessage);
}

/** A payload as text. */
export const textOf = (record: JournalRecord | { readonly payload: Uint8Array }): string =>
  "payload" in record ? Buffer.from(record.payload).toString("utf8") : "";
