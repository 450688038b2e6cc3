import type { JournalRecord } from "../../store/journal/record.js";
import { decodeUplinkDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { createLock } from "../../store/lib/scheduling.js";
import { createSemaphore } from "../../store/lib/semaphore.js";
import { createRecentIDs, type RecentIDs, recentIDsMax } from "./recent-ids.js";

/** What a device has sent under ids of its own, so that it is not taken twice. */
export interface Repeats {
  /** Ids of its last messages. */
  keys(device: OwnedDevice, mayGrow: MayGrow): Promise<RecentIDs>;
  /** Ids of its last batches, each with the number of lines that were refused for good. */
  batches(device: OwnedDevice, mayGrow: MayGrow): Promise<RecentBatches>;
}

/** A device of a tenant. */
interface OwnedDevice {
  readonly device: number;
  readonly tenant: number;
}

/** Takes this many more bytes of the budget; false if that is used up. */
type MayGrow = (bytes: number) => boolean;

export interface RecentBatches {
  readonly ids: RecentIDs;
  /** Lines that were kept of batches which an earlier run was cut off in, by batch. */
  readonly cutOff: Map<string, ReadonlySet<number>>;
  /** One batch after the other: a repetition finds what the first one came to. */
  inTurn<T>(action: () => Promise<T>): Promise<T>;
}

/** The parts of the event log, and of the journal, that ids are read back from. */
interface RepeatsDeps {
  readonly history: {
    history(device: number, recordsMax: number): AsyncIterable<JournalRecord>;
    batches(device: number, recordsMax: number): AsyncIterable<JournalRecord>;
    kept(device: number, start: number, stop: number): AsyncIterable<JournalRecord>;
  };
  /** Resolves once everything appended so far can be read back. */
  readonly readable: () => Promise<void>;
  /** The end of the previous run, microseconds since 1970; 0: there was none. */
  readonly earlierEndedAt: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Other messages of the device may lie between. */
const recordsMax = 10_000;
/** A batch that was cut off, by the end of the previous run or in this one, began at most so long before. */
const cutOffMicros = 30 * 60e6;
const cutOffRecordsMax = 50_000;
/** The most bytes of records read for one device, with their overhead. */
const readBytesMax = 64 * 1024 * 1024;
const recordBytes = 100;
/** Devices whose ids are read back at once; tenants take turns. */
const readingsMax = 4;

/** Records up to a bound of their number and bytes. */
async function* some(
  records: AsyncIterable<JournalRecord>,
  countMax: number,
  bytesMax: number,
): AsyncGenerator<JournalRecord> {
  let [count, bytes] = [0, 0];
  for await (const record of records) {
    bytes += recordBytes + ("payload" in record ? record.payload.length : 0);
    if (++count > countMax || bytes > bytesMax) return;
    yield record;
  }
}

/** Reads ids back from the journal: after a kill it has exactly what clients have had confirmed. */
export function createRepeats(
  { history, readable, earlierEndedAt, now }: RepeatsDeps,
  bytesMax = readBytesMax,
): Repeats {
  const readings = createSemaphore<number>(readingsMax);

  async function readFairly<T>(tenant: number, read: () => Promise<T>): Promise<T> {
    await readings.enter(tenant, 1, { signal: null, left: () => new Error("never") });
    try {
      await readable();
      return await read();
    } finally {
      readings.leave(tenant, 1);
    }
  }

  async function cutOffLines(device: number): Promise<Map<string, Set<number>>> {
    const lines = new Map<string, Set<number>>();
    for (const end of [now() * 1000, earlierEndedAt]) {
      const kept = history.kept(device, end - cutOffMicros, end + 1);
      for await (const record of some(kept, cutOffRecordsMax, bytesMax)) {
        if (record.kind !== recordKinds.uplink) continue;
        const { batch } = decodeUplinkDetails(record.details);
        if (batch === null) continue;
        const known = lines.get(batch.id) ?? new Set();
        lines.set(batch.id, known.add(batch.line));
      }
    }
    return lines;
  }

  async function readRecentKeys(device: number, mayGrow: MayGrow): Promise<RecentIDs> {
    const newest: string[] = [];
    for await (const record of some(history.history(device, recordsMax), recordsMax, bytesMax)) {
      if (record.kind !== recordKinds.uplink) continue;
      const { key } = decodeUplinkDetails(record.details);
      if (key !== null && newest.push(key) === recentIDsMax) break;
    }
    const ids = createRecentIDs(mayGrow);
    for (const key of newest.reverse()) ids.add(key);
    return ids;
  }

  async function readRecentBatches(device: number, mayGrow: MayGrow): Promise<RecentBatches> {
    const newest: { readonly id: string; readonly refused: number }[] = [];
    for await (const record of history.batches(device, recentIDsMax)) {
      if (record.kind === recordKinds.batch)
        newest.push({ id: record.batchID, refused: record.refusedLines });
    }
    const ids = createRecentIDs(mayGrow);
    for (const { id, refused } of newest.reverse()) ids.add(id, refused);
    const cutOff = await cutOffLines(device);
    for (const { id } of newest) cutOff.delete(id);
    return { ids, cutOff, inTurn: createLock() };
  }

  return {
    keys: ({ device, tenant }, mayGrow) => readFairly(tenant, () => readRecentKeys(device, mayGrow)),
    batches: ({ device, tenant }, mayGrow) => readFairly(tenant, () => readRecentBatches(device, mayGrow)),
  };
}
