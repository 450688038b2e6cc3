/** The loop of every follower of the journal: it reads, yields, skips dead letters, and resumes. */
import type { JournalBatch, JournalReader } from "../../store/journal/reader.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { decodeRecord } from "../../store/journal/record-codecs.js";
import { createSlice } from "../../store/lib/scheduling.js";

/** What a follower does with the records. */
export interface RecordConsumer {
  /** Whether the record may be looked into at once; otherwise `enter` decides. */
  pass(id: number): boolean;
  /** Waits until the record may be taken. False: it is a dead letter. */
  enter(record: JournalRecord): Promise<boolean>;
  /** A batch has been read: what its records need can be read together. */
  begin?(batch: JournalBatch): Promise<void> | undefined;
  /**
   * Takes the next record; returns a promise only if it has to wait for something. The payload lies in the reader's
   * buffer, which stays as it is until the promise resolves. `isAside`: the record must not be looked into.
   */
  take(record: JournalRecord, isDeadLetter: boolean): Promise<void> | undefined;
  /** Whether to stop reading; asked after each record. */
  readonly isOver?: boolean;
  /** Nothing is left up to `lastID`. Resolves with true when it is time to look again, with false to end here. */
  caughtUp(lastID: number): Promise<boolean>;
}

/**
 * Hands the reader's records to the consumer, in order and in slices, until the consumer ends it or the signal is
 * aborted; then closes the reader. A follower resumes with a new reader after the last record that it has taken.
 */
export async function followJournal(
  reader: JournalReader,
  consumer: RecordConsumer,
  signal: AbortSignal,
): Promise<void> {
  try {
    while (!signal.aborted) {
      const batch = await reader.next();
      if (batch === null) {
        if (await consumer.caughtUp(reader.lastID)) continue;
        return;
      }
      await consumer.begin?.(batch);
      const slice = createSlice();
      for (const at of batch.offsets) {
        const record = decodeRecord(batch.buffer, at, batch.topics);
        const isDeadLetter = !consumer.pass(record.id) && !(await consumer.enter(record));
        if (signal.aborted) return;
        const taking = consumer.take(record, isDeadLetter);
        if (taking !== undefined) await taking;
        if (signal.aborted || consumer.isOver === true) return;
        if (slice.isOver()) await slice.next();
      }
    }
  } catch (error) {
    // An error during shutdown is no failure: the work is done again after the restart.
    if (!signal.aborted) throw error;
  } finally {
    await reader.close();
  }
}
