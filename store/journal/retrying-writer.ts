import { statfs } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { asError, StoreError } from "../lib/errors.js";
import { retryDelays } from "../lib/retry.js";
import type { Batch } from "./batch.js";
import type { Segment } from "./segment.js";
import type { RetryTimes } from "./segment-keeping.js";
import type { JournalWriter } from "./writer.js";

const freeCheckMs = 1000;

interface RetryingWriterOptions {
  readonly dir: string;
  /** Below this much free space nothing is written. */
  readonly freeBytesMin: number;
  readonly retryMs: RetryTimes;
  /** Called at each change of `stopped`. */
  readonly onStopped: (reason: string | null) => void;
}

/** Writes to a disk that may be full or away for a while. */
interface RetryingWriter {
  /**
   * Why nothing can be written, or null. Checked between writes too, so that a full disk is known before a batch meets
   * it.
   */
  readonly stopped: string | null;
  /** Resolves once the disk has taken the batch; rejects only after `stopTrying`. */
  write(batch: Batch): Promise<{ segment: Segment; position: number }>;
  /**
   * Begins a segment with this id as its first. If that fails it is tried again with each look at the disk, until the
   * first write, which makes the segment itself.
   */
  begin(firstID: number): Promise<void>;
  /** From now on what has failed is not tried again. Resolves once no segment is being begun. */
  stopTrying(): Promise<void>;
}

export function createRetryingWriter(writer: JournalWriter, options: RetryingWriterOptions): RetryingWriter {
  let stopped: string | null = null;
  let isWriting = false;
  let isClosing = false;
  let freeCheckedAt = 0;
  /** The first id of a segment that could not be begun. */
  let unbegun: number | null = null;
  let isBeginning = false;
  /** The segment that is being begun, or was last; never rejects. */
  let begun: Promise<unknown> = Promise.resolve();

  async function checkFree(bytes: number): Promise<void> {
    const now = performance.now();
    if (stopped === null && freeCheckedAt > 0 && now - freeCheckedAt < freeCheckMs) return;
    freeCheckedAt = now;
    const { bavail, bsize } = await statfs(options.dir);
    if (bavail * bsize - bytes < options.freeBytesMin) {
      throw new StoreError("UNAVAILABLE", `disk full: less than ${options.freeBytesMin} bytes free`);
    }
  }

  function setStopped(reason: string | null): void {
    if (stopped === reason) return;
    stopped = reason;
    options.onStopped(reason);
  }

  /** Never syncs a failed file again: a later success would not mean that the failed bytes are on disk. */
  async function writeUntilTaken(batch: Batch): Promise<{ segment: Segment; position: number }> {
    for (const delays = retryDelays(options.retryMs.first, options.retryMs.longest); ; ) {
      try {
        await checkFree(batch.bytes);
        const written = await writer.write(batch);
        setStopped(null);
        return written;
      } catch (error) {
        if (isClosing) throw error;
        setStopped(asError(error).message);
        await writer.abandon();
        await delay(delays.next().value);
      }
    }
  }

  async function probe(): Promise<void> {
    if (isWriting || isClosing || isBeginning) return;
    freeCheckedAt = 0;
    let reason = await checkFree(0).then(
      () => null,
      (error: unknown) => asError(error).message,
    );
    if (reason === null && unbegun !== null && !isWriting && !isClosing) reason = await tryToBegin(unbegun);
    if (!isWriting && !isClosing) setStopped(reason);
  }
  const probing = setInterval(() => void probe(), freeCheckMs);

  /** Why it cannot be begun; null: it is. */
  function tryToBegin(firstID: number): Promise<string | null> {
    isBeginning = true;
    const outcome = writer.begin(firstID).then(
      () => {
        unbegun = null;
        return null;
      },
      (error: unknown) => {
        unbegun = firstID;
        return asError(error).message;
      },
    );
    begun = outcome.finally(() => {
      isBeginning = false;
    });
    return outcome;
  }

  return {
    get stopped() {
      return stopped;
    },
    write: async (batch) => {
      isWriting = true;
      try {
        await begun;
        unbegun = null;
        return await writeUntilTaken(batch);
      } finally {
        isWriting = false;
      }
    },
    begin: async (firstID) => {
      const reason = await tryToBegin(firstID);
      if (reason !== null) setStopped(reason);
    },
    stopTrying: async () => {
      isClosing = true;
      clearInterval(probing);
      await begun;
    },
  };
}
