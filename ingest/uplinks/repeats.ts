import type { JournalRecord } from "../../store/journal/record.js";
import { decodeUplinkDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { createLock } from "../../store/lib/turns.js";
import { createRecentIDs, type RecentIDs, recentIDsMax } from "./recent-ids.js";

/** What a device has sent under ids of its own, so that it is not taken twice. */
export interface Repeats {
  /** Ids of its last messages. */
  keys(device: number, mayGrow: MayGrow): Promise<RecentIDs>;
  /** Ids of its last batches, each with the number of lines that were refused for good. */
  batches(device: number, mayGrow: MayGrow): Promise<RecentBatches>;
}

/** Whether there is room for so many more bytes, which are then taken. */
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

/** Reads ids back from the journal: what a kill leaves is what a client has been told, and no more. */
export function createRepeats({ history, readable, earlierEndedAt, now }: RepeatsDeps): Repeats {
  async function cutOffLines(device: number): Promise<Map<string, Set<number>>> {
    const lines = new Map<string, Set<number>>();
    for (const end of [now() * 1000, earlierEndedAt]) {
      let records = 0;
      for await (const record of history.kept(device, end - cutOffMicros, end + 1)) {
        if (++records > cutOffRecordsMax) break;
        if (record.kind !== recordKinds.uplink) continue;
        const { batch } = decodeUplinkDetails(record.details);
        if (batch === null) continue;
        const known = lines.get(batch.id) ?? new Set();
        lines.set(batch.id, known.add(batch.line));
      }
    }
    return lines;
  }

  return {
    keys: async (device, mayGrow) => {
      await readable();
      const newest: string[] = [];
      for await (const record of history.history(device, recordsMax)) {
        if (record.kind !== recordKinds.uplink) continue;
        const { key } = decodeUplinkDetails(record.details);
        if (key !== null && newest.push(key) === recentIDsMax) break;
      }
      const ids = createRecentIDs(mayGrow);
      for (const key of newest.reverse()) ids.add(key);
      return ids;
    },
    batches: async (device, mayGrow) => {
      await readable();
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
    },
  };
}
