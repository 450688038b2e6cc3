import type { Damage } from "../files/damage.js";
import { asError, StoreError } from "../lib/errors.js";
import { nextTurn } from "../lib/scheduling.js";
import { type Batch, createBatches } from "./batch.js";
import { createCommitWaiters } from "./commit-waiters.js";
import { frameBytesMax, type RecordPeek } from "./frame.js";
import { type JournalReader, openJournalReader } from "./reader.js";
import type { JournalInput } from "./record.js";
import { toFrameInput } from "./record-codecs.js";
import { journalDamage, recoverJournal } from "./recover.js";
import { createRetryingWriter } from "./retrying-writer.js";
import { recordBytesLimit } from "./scan.js";
import type { Segment } from "./segment.js";
import { keepOnDisk, type SegmentKeeping } from "./segment-keeping.js";
import { idsPerShard } from "./shard-ids.js";
import { createTail } from "./tail.js";
import { createJournalWriter, type JournalWriterOptions } from "./writer.js";

export interface JournalOptions extends JournalWriterOptions {
  /** Default: in `dir` alone. */
  readonly keeping?: SegmentKeeping;
  /** 0 to 999, in the ids of its records. */
  readonly shard: number;
  /** Bytes appended but not committed; beyond this, `full` asks the transports to stop reading. */
  readonly pendingBytesMax: number;
  /** Below this much free space no record is taken. */
  readonly freeBytesMin: number;
  /** Called when a record becomes durable, in order: (segment, offset, record). */
  readonly onRecord?: (segment: Segment, position: number, record: RecordPeek) => void;
  /** Called after the acknowledgements of a commit, and when a stop or a resumption changes `stopped`. */
  readonly onCommit?: () => void;
  readonly onTrouble?: (error: Error) => void;
  /** Called when a `done` callback has thrown. */
  readonly onFault?: (error: Error) => void;
  /** Called for each part of the journal that is not as written; it has been passed over. */
  readonly onDamage?: (damage: Damage) => void;
}

/** An append-only log with group commit: a record is acknowledged once it has been synced to the disk. */
export interface Journal {
  /**
   * Takes a record and returns its id; `done` is called once it is on disk, in the order of appends. Never awaits.
   * While the disk cannot take the record, `done` waits.
   */
  append(input: JournalInput, done?: (id: number) => void): number;
  /** The id up to which everything is durable. */
  readonly committedID: number;
  readonly appendedID: number;
  /** Receipt of the last record, microseconds since 1970. */
  readonly lastReceivedAt: number;
  readonly pendingBytes: number;
  /** True if transports must stop reading. */
  readonly full: boolean;
  /** Why no record is taken, or null. */
  readonly stopped: string | null;
  readonly segments: readonly Segment[];
  /** Reads the committed records after `afterID`. */
  read(afterID: number): Promise<JournalReader>;
  /**
   * Resolves with true once a record after `id` is committed, or there is reason to look again; with false once the
   * journal is closed and nothing more will come.
   */
  waitFor(id: number): Promise<boolean>;
  /**
   * Call before anything is appended. Records acknowledged up to these ids have had effects elsewhere: if the journal
   * ends before one of them, records are lost, and new ids begin well above it. Returns whether that was so.
   */
  beginAbove(...ids: readonly number[]): Promise<boolean>;
  /** Unlinks the oldest segment; never the newest. */
  drop(segment: Segment): Promise<void>;
  /** How long commits took, for the histogram. */
  onCommitTime(listener: (seconds: number, records: number) => void): void;
  close(): Promise<void>;
}

/** After a lost end, ids begin at a multiple of this, so that those of the lost records are not given again. */
const idBlock = 2 ** 20;
const loggedEveryMs = 60_000;
/** The salt of a batch whose segment does not exist yet: the batch is resealed for it. */
const unknownSalt = 1;

/**
 * Opens or makes the journal: cuts a torn tail, continues the ids, and reports the records of the newest segment to
 * `onRecord`.
 * @throws StoreError INVALID for a newer format
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const base = options.shard * idsPerShard;
  const keeping = options.keeping ?? keepOnDisk(options.dir);
  const recovered = await recoverJournal({ ...options, keeping }).catch(async (error: unknown) => {
    await keeping.close();
    throw error;
  });
  const { segments, stamps } = recovered;
  let { lastReceivedAt } = recovered;
  let committedID = recovered.lastID ?? base;
  let nextID = committedID + 1;
  const writer = createJournalWriter(options, keeping, recovered);
  const waiters = createCommitWaiters();
  const { dir, freeBytesMin } = options;
  const patient = createRetryingWriter(writer, { dir, freeBytesMin, retryMs: keeping.retryMs, onStopped });
  const createBatch = createBatches();
  const tail = createTail();
  let pending: Batch | null = null;
  let pendingBytes = 0;
  let committing: Promise<void> | null = null;
  let isStopped = false;
  /** When the journal last logged that nothing can be written. */
  let loggedAt = Number.NEGATIVE_INFINITY;
  let closing = false;
  /** Records that come now are never committed, and never acknowledged. */
  let closed = false;
  const commitTimes: ((seconds: number, records: number) => void)[] = [];

  function append(input: JournalInput, done?: (id: number) => void): number {
    const frame = toFrameInput(input);
    if (frameBytesMax(frame) > recordBytesLimit) {
      throw new StoreError(
        "LIMIT",
        `cannot journal the message: it is larger than ${recordBytesLimit} bytes`,
      );
    }
    const id = nextID++;
    const receivedAt = frame.receivedAt ?? options.now() * 1000;
    if (frame.receivedAt === undefined) lastReceivedAt = receivedAt;
    const stamp = frame.stamp ?? stamps.next(receivedAt);
    pending ??= createBatch(id, segments.at(-1)?.salt || unknownSalt);
    pendingBytes += pending.add(frame, receivedAt, stamp, done);
    // Appends of this turn of the loop join the commit.
    if (committing === null && !closed) committing = nextTurn().then(commitAll);
    return id;
  }

  async function commitAll(): Promise<void> {
    try {
      while (pending !== null) {
        const batch = pending;
        pending = null;
        // `fit` may make the batch smaller.
        const { bytes } = batch;
        const startedAt = performance.now();
        const { segment, position } = await patient.write(batch);
        committedID = batch.lastID;
        pendingBytes -= bytes;
        const records = batch.lastID - batch.firstID + 1;
        for (const listener of commitTimes) listener((performance.now() - startedAt) / 1000, records);
        tail.keep(segment, position, batch.views());
        const { onRecord } = options;
        if (onRecord !== undefined) batch.visit((at, record) => onRecord(segment, position + at, record));
        batch.settle(reportFault);
        options.onCommit?.();
        waiters.wakeUpTo(committedID);
      }
    } finally {
      // In the turn that finds nothing more: the next append starts a new commit.
      committing = null;
    }
  }

  /** The record is kept, but its immediate effect has failed, as it also may when the record is read again. */
  function reportFault(id: number, error: unknown): void {
    options.onFault?.(new Error(`cannot act on record ${id}: ${asError(error).message}`, { cause: error }));
  }

  async function beginAbove(...ids: readonly number[]): Promise<boolean> {
    // Ids of other shards do not concern this journal.
    const id = Math.max(0, ...ids.filter((one) => one < base + idsPerShard));
    if (id < nextID) return false;
    nextID = base + Math.ceil((id + 1 - base) / idBlock) * idBlock;
    committedID = nextID - 1;
    await writer.close();
    await patient.begin(nextID);
    return true;
  }

  function onStopped(reason: string | null): void {
    // Why a log is away is another thing with each attempt: another broker, another number of milliseconds.
    const isLogged = isStopped && performance.now() - loggedAt < loggedEveryMs;
    isStopped = reason !== null;
    if (reason !== null && !isLogged) {
      loggedAt = performance.now();
      options.onTrouble?.(new Error(`cannot write the journal: ${reason}`));
    }
    // Callers that wait for a commit look again why it does not come.
    waiters.wakeAll();
    options.onCommit?.();
  }

  const stoppedFor = (): string | null => (closed ? "it is closed" : patient.stopped);

  async function close(): Promise<void> {
    closing = true;
    const begun = patient.stopTrying();
    // A caller that learns of a commit, or waited for it, may append more.
    for (; committing !== null; await nextTurn()) await committing.catch(() => undefined);
    await begun;
    closed = true;
    try {
      await writer.close();
      await keeping.close();
    } finally {
      waiters.wakeAll();
      // Wakes callers that wait for a record which will now not be committed.
      options.onCommit?.();
    }
  }

  // The head of the first segment holds the first id, so that ids go on after a cut or an empty file. What is on its way to
  // a log is neither cut nor empty, and it must not be on its way when `beginAbove` begins another one.
  if (segments.length === 0 && !keeping.resumes) await patient.begin(nextID);
  if (recovered.lostThrough !== null) await beginAbove(recovered.lostThrough);

  return {
    append,
    get committedID() {
      return committedID;
    },
    get appendedID() {
      return nextID - 1;
    },
    get lastReceivedAt() {
      return lastReceivedAt;
    },
    get pendingBytes() {
      return pendingBytes;
    },
    get full() {
      return stoppedFor() !== null || pendingBytes > options.pendingBytesMax;
    },
    get stopped() {
      return stoppedFor();
    },
    segments,
    read: (afterID) =>
      openJournalReader(
        {
          segments,
          committedID: () => committedID,
          tail,
          onDamage: (segment, damage) => options.onDamage?.(journalDamage(segment, damage)),
        },
        afterID,
      ),
    waitFor: async (id) => {
      if (id >= committedID && !closing) await waiters.wait(id);
      return id < committedID || !closing;
    },
    beginAbove,
    drop: async (segment) => {
      if (segment === segments.at(-1)) throw new StoreError("INVALID", "cannot drop the newest segment");
      const at = segments.indexOf(segment);
      const next = segments[at + 1];
      if (at < 0 || next === undefined)
        throw new StoreError("NOT_FOUND", "cannot drop the segment: it is gone");
      // Removed from the list first: a reader that finds the file gone can see why.
      segments.splice(at, 1);
      try {
        await keeping.drop(segment, next);
      } catch (error) {
        segments.splice(at, 0, segment);
        throw error;
      }
    },
    onCommitTime: (listener) => {
      commitTimes.push(listener);
    },
    close,
  };
}
