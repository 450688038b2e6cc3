import { type FileHandle, mkdir, open, statfs, unlink } from "node:fs/promises";
import { StoreError } from "./errors.js";
import { type JournalReader, openJournalReader } from "./journal-reader.js";
import { encodeRecord, type JournalInput, peekRecord, recordBytesMax } from "./journal-record.js";
import {
  createSegment,
  cutTornTail,
  listSegments,
  recordBytesLimit,
  type Segment,
  scanSegment,
  segmentHeadBytes,
  syncFolder,
} from "./journal-segment.js";

/** Ids are node × 2^43 + sequence, so that nodes never meet and ids stay exact in a double. */
export const idsPerNode = 2 ** 43;

export interface JournalOptions {
  readonly dir: string;
  readonly node: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly segmentBytesMax: number;
  readonly segmentAgeMaxMs: number;
  /** Bytes appended and not committed; beyond it `full` asks the transports to stop reading. */
  readonly pendingBytesMax: number;
  /** Below this much free space nothing is taken. */
  readonly freeBytesMin: number;
  /** A record became durable, in order: (segment, record kind, offset, tenant, device). */
  readonly onRecord?: (segment: Segment, position: number, record: RecordPeek) => void;
  readonly onSegmentClosed?: (segment: Segment) => void;
  /** After the acknowledgements of a commit, and when a stop or a resumption changes `stopped`. */
  readonly onCommit?: () => void;
  readonly onTrouble?: (error: Error) => void;
}

export type RecordPeek = ReturnType<typeof peekRecord>;

/** An append-only log with group commit: a record is acknowledged once fdatasync has covered it. */
export interface Journal {
  /**
   * Takes a record and returns its id; `done` is called once it is on disk, in the order of appends. Never
   * awaits. While the disk cannot take it, `done` waits.
   */
  append(input: JournalInput, done?: (id: number) => void): number;
  /** The id up to which everything is durable. */
  readonly committedID: number;
  readonly appendedID: number;
  /** The newest server stamp, microseconds: about the time of the last record. */
  readonly lastStamp: number;
  readonly pendingBytes: number;
  /** True when transports must stop reading. */
  readonly full: boolean;
  /** Why nothing is taken, or null. */
  readonly stopped: string | null;
  readonly segments: readonly Segment[];
  /** Reads committed records behind `afterID`. */
  read(afterID: number): Promise<JournalReader>;
  /** Resolves when there is something committed behind `id`, or at close. */
  waitFor(id: number): Promise<void>;
  /** Unlinks a segment from the front; never the newest. */
  drop(segment: Segment): Promise<void>;
  /** How long commits took, for the histogram. */
  onCommitTime(listener: (seconds: number, records: number) => void): void;
  close(): Promise<void>;
}

const bufferBytes = 1024 * 1024;
const retryMs = 1000;
const freeCheckMs = 1000;

interface Pending {
  buffers: Buffer[];
  used: number;
  bytes: number;
  /** Offsets of the records in the chunks, chained: file offset is known only at commit. */
  dones: (((id: number) => void) | undefined)[];
  firstID: number;
}

/**
 * Opens or makes the journal: cuts a torn tail, continues the ids, and reports the records of the newest
 * segment to `onRecord`. @throws StoreError INVALID for a newer format
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  await mkdir(options.dir, { recursive: true });
  const base = options.node * idsPerNode;
  const segments = await listSegments(options.dir);
  let lastID = base;
  let lastStamp = 0;
  const newest = segments.at(-1);
  if (newest !== undefined) {
    lastID = newest.firstID - 1;
    lastStamp = newest.createdAt * 1000;
    const intact = await scanSegment(newest, 0, (buffer, at, _size, position) => {
      const record = peekRecord(buffer, at);
      lastID = record.id;
      lastStamp = Math.max(lastStamp, record.stamp);
      options.onRecord?.(newest, position, record);
    });
    const cut = await cutTornTail(newest, intact);
    if (cut > 0) options.onTrouble?.(new Error(`cut ${cut} bytes of an unfinished commit`));
  }

  let file: FileHandle | null = null;
  if (newest !== undefined) file = await open(newest.path, "r+");
  let nextID = lastID + 1;
  let committedID = lastID;
  let pending: Pending | null = null;
  let pendingBytes = 0;
  let committing: Promise<void> | null = null;
  let stopped: string | null = null;
  let closing = false;
  let freeCheckedAt = 0;
  let waiters: { id: number; resolve: () => void }[] = [];
  const pool: Buffer[] = [];
  const commitTimes: ((seconds: number, records: number) => void)[] = [];

  function append(input: JournalInput, done?: (id: number) => void): number {
    const room = recordBytesMax(input);
    if (room > recordBytesLimit) {
      throw new StoreError(
        "LIMIT",
        `cannot journal the message: it is larger than ${recordBytesLimit} bytes`,
      );
    }
    const id = nextID++;
    const receivedAt = input.receivedAt ?? options.now() * 1000;
    if (input.stamp === undefined) lastStamp = Math.max(receivedAt, lastStamp + 1);
    pending ??= { buffers: [], used: bufferBytes, bytes: 0, dones: [], firstID: id };
    if (pending.used + room > bufferBytes) {
      const full = pending.buffers.at(-1);
      if (full !== undefined) pending.buffers[pending.buffers.length - 1] = full.subarray(0, pending.used);
      pending.buffers.push(pool.pop() ?? Buffer.allocUnsafeSlow(bufferBytes));
      pending.used = 0;
    }
    const buffer = pending.buffers[pending.buffers.length - 1] as Buffer;
    const end = encodeRecord(buffer, pending.used, input, id, receivedAt, input.stamp ?? lastStamp);
    pending.bytes += end - pending.used;
    pendingBytes += end - pending.used;
    pending.used = end;
    pending.dones.push(done);
    // Appends of this turn of the loop join the commit.
    if (committing === null)
      committing = new Promise<void>((resolve) => setImmediate(resolve)).then(commitAll);
    return id;
  }

  async function commitAll(): Promise<void> {
    while (pending !== null) {
      const batch = pending;
      pending = null;
      const last = batch.buffers.length - 1;
      const views = batch.buffers.map((buffer, i) => (i === last ? buffer.subarray(0, batch.used) : buffer));
      const startedAt = performance.now();
      const { segment, position } = await writeUntilKept(batch, views);
      const lastOfBatch = batch.firstID + batch.dones.length - 1;
      committedID = lastOfBatch;
      pendingBytes -= batch.bytes;
      for (const listener of commitTimes)
        listener((performance.now() - startedAt) / 1000, batch.dones.length);
      report(segment, position, views);
      batch.dones.forEach((done, i) => {
        done?.(batch.firstID + i);
      });
      for (const buffer of batch.buffers) recycle(buffer);
      options.onCommit?.();
      wake();
    }
    committing = null;
  }

  function report(segment: Segment, position: number, views: readonly Buffer[]): void {
    if (options.onRecord === undefined) return;
    let base = position;
    for (const view of views) {
      for (let at = 0; at < view.length; at += 8 + view.readUInt32LE(at)) {
        options.onRecord(segment, base + at, peekRecord(view, at));
      }
      base += view.length;
    }
  }

  function recycle(buffer: Buffer): void {
    if (pool.length < 8) pool.push(Buffer.from(buffer.buffer, 0, bufferBytes));
  }

  /** Holds the batch until a disk takes it; a failed file is never synced again. */
  async function writeUntilKept(
    batch: Pending,
    views: Buffer[],
  ): Promise<{ segment: Segment; position: number }> {
    for (;;) {
      try {
        await checkFree(batch.bytes);
        const segment = await writableSegment(batch.firstID);
        const position = segment.bytes;
        await writeAll(file as FileHandle, views, position);
        await (file as FileHandle).datasync();
        segment.bytes = position + batch.bytes;
        setStopped(null);
        return { segment, position };
      } catch (error) {
        if (closing) throw error;
        setStopped(error instanceof Error ? error.message : String(error));
        await abandon();
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  async function checkFree(bytes: number): Promise<void> {
    const now = performance.now();
    if (stopped === null && freeCheckedAt > 0 && now - freeCheckedAt < freeCheckMs) return;
    freeCheckedAt = now;
    const { bavail, bsize } = await statfs(options.dir);
    if (bavail * bsize - bytes < options.freeBytesMin) {
      throw new StoreError("UNAVAILABLE", `disk full: less than ${options.freeBytesMin} bytes free`);
    }
  }

  async function writableSegment(firstID: number): Promise<Segment> {
    const current = segments.at(-1);
    if (file !== null && current !== undefined) {
      const young = options.now() - current.createdAt < options.segmentAgeMaxMs;
      const empty = current.bytes === segmentHeadBytes;
      if (current.bytes < options.segmentBytesMax && (young || empty)) return current;
    }
    const made = await createSegment(
      options.dir,
      firstID,
      // Never before a stamp already given, so that stamps go on after it.
      Math.ceil(Math.max(options.now(), lastStamp / 1000, (current?.createdAt ?? 0) + 1)),
    );
    await file?.close();
    file = made.file;
    if (current !== undefined && current.firstID === firstID) {
      // Its first commit failed: the new file takes its place, so that a sick disk does not fill with heads.
      segments.splice(-1, 1, made.segment);
      await unlink(current.path).catch(() => undefined);
      return made.segment;
    }
    segments.push(made.segment);
    if (current !== undefined) options.onSegmentClosed?.(current);
    return made.segment;
  }

  /** Leaves the present file: what it durably holds stays, the failed tail is cut as far as the disk allows. */
  async function abandon(): Promise<void> {
    const current = segments.at(-1);
    if (file === null || current === undefined) return;
    await file.truncate(current.bytes).catch(() => undefined);
    await file.close().catch(() => undefined);
    file = null;
  }

  function setStopped(reason: string | null): void {
    if (stopped === reason) return;
    stopped = reason;
    if (reason !== null) options.onTrouble?.(new Error(`cannot write the journal: ${reason}`));
    // Whoever waits for a commit looks again why it does not come.
    const waiting = waiters;
    waiters = [];
    for (const waiter of waiting) waiter.resolve();
    options.onCommit?.();
  }

  function wake(): void {
    const ready = waiters.filter((waiter) => waiter.id < committedID || closing);
    if (ready.length === 0) return;
    waiters = waiters.filter((waiter) => waiter.id >= committedID && !closing);
    for (const waiter of ready) waiter.resolve();
  }

  /** Between commits too: a full disk is told before the first message meets it, and so is its end. */
  async function probe(): Promise<void> {
    if (committing !== null || closing) return;
    freeCheckedAt = 0;
    const reason = await checkFree(0).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (committing === null && !closing) setStopped(reason);
  }
  const probing = setInterval(() => void probe(), freeCheckMs);

  async function close(): Promise<void> {
    closing = true;
    clearInterval(probing);
    await committing?.catch(() => undefined);
    await file?.close();
    file = null;
    wake();
  }

  // The head of the first segment carries the first id, so that ids go on after a cut or an empty file.
  if (newest === undefined) await writableSegment(nextID);

  return {
    append,
    get committedID() {
      return committedID;
    },
    get appendedID() {
      return nextID - 1;
    },
    get lastStamp() {
      return lastStamp;
    },
    get pendingBytes() {
      return pendingBytes;
    },
    get full() {
      return stopped !== null || pendingBytes > options.pendingBytesMax;
    },
    get stopped() {
      return stopped;
    },
    segments,
    read: (afterID) => openJournalReader(segments, afterID, () => committedID),
    waitFor: (id) =>
      id < committedID || closing
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiters.push({ id, resolve });
          }),
    drop: async (segment) => {
      if (segment === segments.at(-1)) throw new StoreError("INVALID", "cannot drop the newest segment");
      await unlink(segment.path);
      segments.splice(segments.indexOf(segment), 1);
      await syncFolder(options.dir);
    },
    onCommitTime: (listener) => {
      commitTimes.push(listener);
    },
    close,
  };
}

async function writeAll(file: FileHandle, views: Buffer[], position: number): Promise<void> {
  let left = views;
  let at = position;
  while (left.length > 0) {
    const { bytesWritten } = await file.writev(left, at);
    at += bytesWritten;
    left = behind(left, bytesWritten);
  }
}

/** What a short write left over. */
function behind(views: Buffer[], written: number): Buffer[] {
  let skip = written;
  const left: Buffer[] = [];
  for (const view of views) {
    if (skip >= view.length) {
      skip -= view.length;
    } else {
      left.push(skip === 0 ? view : view.subarray(skip));
      skip = 0;
    }
  }
  return left;
}
