import { peekRecord } from "../../store/journal/frame.js";
import type { Journal } from "../../store/journal/journal.js";
import type { MessageRecord } from "../../store/journal/record.js";
import { decodeRecord } from "../../store/journal/record-codecs.js";
import { encodeEntryDetails, readSentAt } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { createSlice } from "../../store/lib/scheduling.js";
import type { DecodeRules } from "../decode/points.js";
import type { Directory } from "../directory/directory.js";
import type { DeviceEntry } from "../directory/entries.js";
import { liesInRecord } from "../followers/failures.js";
import { entriesMax, parseEntries, payloadOfEntry } from "./entries.js";
import { type EntryMessage, findReplaced } from "./replaced.js";

/**
 * Writes the entries of a gateway's envelope to the journal, each as a record of the device that it speaks of, and
 * after them one that says they are all there. The records of an envelope in the journal show how far a killed run
 * came, so that no entry is written twice.
 */
export interface Envelopes {
  /** Appends the entries; until they are on disk the envelope counts as open. @throws what lies in the record */
  expand(record: MessageRecord): Promise<void>;
  /** The oldest envelope whose entries are not on disk yet; infinite if there is none. */
  readonly oldestOpenID: number;
  /** Resolves when the entries of every envelope expanded so far are on disk. */
  written(): Promise<void>;
  /** Nothing more is appended; the next start goes on from there. */
  close(): void;
}

/** How far an envelope has been expanded. */
interface Progress {
  /** The first entry that is not written yet. */
  next: number;
  done: boolean;
}

/** Envelopes whose entries wait for the disk together. */
const openMax = 1000;
const none: ReadonlySet<number> = new Set();
/** What a record can say. */
const refusedMax = 0xffff;

interface EnvelopesDeps {
  readonly directory: Pick<Directory, "below" | "get">;
  readonly journal: Journal;
  readonly rules: () => Omit<DecodeRules, "asOfReceipt">;
  /** Called for each entry that is written: which device was heard through which parent, when, in microseconds. */
  readonly onCarried: (device: number, parent: number, receivedAt: number) => void;
}

/** @param afterID envelopes up to it have certainly been expanded */
export async function openEnvelopes(
  { directory, journal, rules, onCarried }: EnvelopesDeps,
  afterID: number,
): Promise<Envelopes> {
  const progress = await readProgress(journal, afterID);
  /** In the order of their ids, as the journal is followed. */
  const open = new Set<number>();
  const waiting = new Set<() => void>();
  /** Entries on their way to the disk. */
  let entries = 0;
  let closed = false;

  function wake(): void {
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  function entryStored(): void {
    entries--;
    wake();
  }

  /** The entries of one envelope may be many: while the journal is full they are appended one by one. */
  async function waitForCapacity(): Promise<void> {
    while (journal.full && entries > 0 && !closed)
      await new Promise<void>((resolve) => void waiting.add(resolve));
  }

  /**
   * An envelope that fails half way is left at that: its entries are events, and nothing says that they are all there.
   */
  async function expandOrForget(envelope: MessageRecord): Promise<void> {
    try {
      await expand(envelope);
    } catch (error) {
      // If the store is only away, the envelope is tried again, and goes on at the entry where it was.
      if (liesInRecord(error)) progress.delete(envelope.id);
      throw error;
    }
  }

  /** Undefined also if its rows cannot be read: that fails its own entries, and no other's. */
  async function findDevice(id: number): Promise<DeviceEntry | undefined> {
    try {
      return await directory.get(id);
    } catch (error) {
      if (liesInRecord(error)) return undefined;
      throw error;
    }
  }

  async function expand(envelope: MessageRecord): Promise<void> {
    const begun = progress.get(envelope.id) ?? { next: 0, done: false };
    if (begun.done) {
      progress.delete(envelope.id);
      return;
    }
    const devices = await directory.below(envelope.device);
    progress.set(envelope.id, begun);
    const { messages, refused } = await readEntries(envelope, devices);
    const replaced = await findReplaced(messages, envelope, findDevice, rules());
    const slice = createSlice();
    for (const { ordinal, device, payload } of messages) {
      if (slice.isOver()) await slice.next();
      if (ordinal < begun.next) continue;
      await waitForCapacity();
      if (closed) return;
      entries++;
      const own = { kind: recordKinds.entry, device, ordinal, payload } as const;
      const record = {
        ...about(envelope),
        ...own,
        details: encodeEntryDetails({ replaced: replaced.get(ordinal) ?? none }),
      };
      journal.append(record, entryStored);
      begun.next = ordinal + 1;
      onCarried(device, envelope.device, envelope.receivedAt);
    }
    if (closed) return;
    progress.delete(envelope.id);
    open.add(envelope.id);
    const refusedEntries = Math.min(refused, refusedMax);
    journal.append({ ...about(envelope), kind: recordKinds.expanded, refusedEntries }, () => {
      open.delete(envelope.id);
      wake();
    });
    while (open.size > openMax || (journal.full && open.size > 0)) {
      await new Promise<void>((resolve) => void waiting.add(resolve));
    }
  }

  return {
    expand: expandOrForget,
    get oldestOpenID() {
      const [oldest = Number.POSITIVE_INFINITY] = open;
      return oldest;
    },
    written: async () => {
      while (open.size > 0) await new Promise<void>((resolve) => void waiting.add(resolve));
    },
    close: () => {
      closed = true;
      wake();
    },
  };
}

/** The entries that become messages of their devices, and how many others there are. `devices`: record ids by deviceID. */
async function readEntries(
  envelope: MessageRecord,
  devices: ReadonlyMap<string, number>,
): Promise<{ readonly messages: readonly EntryMessage[]; readonly refused: number }> {
  const sentAt = envelope.kind === recordKinds.uplink ? readSentAt(envelope.details) : null;
  const messages: EntryMessage[] = [];
  let refused = 0;
  const slice = createSlice();
  for (const [ordinal, entry] of parseEntries(envelope.payload as Buffer).entries()) {
    if (slice.isOver()) await slice.next();
    const device = entry === null || ordinal >= entriesMax ? undefined : devices.get(entry.deviceID);
    const payload = entry === null || device === undefined ? null : payloadOfEntry(entry, sentAt);
    if (device === undefined || payload === null) refused++;
    else messages.push({ ordinal, device, payload });
  }
  return { messages, refused };
}

/** What a record about an envelope has of it. */
function about({ id: envelope, tenant, device, ip, topic, receivedAt, stamp }: MessageRecord) {
  return { envelope, tenant, device, ip, topic, receivedAt, stamp };
}

async function readProgress(journal: Journal, afterID: number): Promise<Map<number, Progress>> {
  const progress = new Map<number, Progress>();
  const reader = await journal.read(afterID);
  for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
    for (const at of batch.offsets) {
      const { kind } = peekRecord(batch.buffer, at);
      if (kind !== recordKinds.entry && kind !== recordKinds.expanded) continue;
      const record = decodeRecord(batch.buffer, at);
      if (record.kind === recordKinds.entry)
        progress.set(record.envelope, { next: record.ordinal + 1, done: false });
      else if (record.kind === recordKinds.expanded) progress.set(record.envelope, { next: 0, done: true });
    }
  }
  await reader.close();
  return progress;
}
