import { statfs } from "node:fs/promises";
import { asError, StoreError } from "../lib/errors.js";
import { retryDelays } from "../lib/retry.js";
import { pause } from "../lib/turns.js";
import type { Batch } from "./batch.js";
import type { Segment } from "./segment.js";
import type { RetryTimes } from "./segment-keeping.js";
import type { JournalWriter } from "./writer.js";

const freeCheckMs = 1000;

interface PatientWriterOptions {
  readonly dir: string;
  /** Below this much free space nothing is written. */
  readonly freeBytesMin: number;
  readonly retryMs: RetryTimes;
  /** Called at each change of `stopped`. */
  readonly onStopped: (reason: string | null) => void;
}

/** Writes to a disk that may be full or away for a while. */
interface PatientWriter {
  /**
   * Why nothing can be written, or null. Checked between writes too, so that a full disk is known before a batch meets
   * it.
   */
  readonly stopped: string | null;
  /** Resolves once the disk has taken the batch; rejects only after `stopTrying`. */
  write(batch: Batch): Promise<{ segment: Segment; position: number }>;
  /** Begins a segment with this id as its first. If the disk is full now, the segment is made by the first write. */
  begin(firstID: number): Promise<void>;
  /** From now on a failed write is not tried again. */
  stopTrying(): void;
}

export function createPatientWriter(writer: JournalWriter, options: PatientWriterOptions): PatientWriter {
  let stopped: string | null = null;
  let isWriting = false;
  let isClosing = false;
  let freeCheckedAt = 0;

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

  /** Never syncs a failed file again: a later success would not prove that the failed bytes are on disk. */
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
        await pause(delays.next().value);
      }
    }
  }

  async function probe(): Promise<void> {
    if (isWriting || isClosing) return;
    freeCheckedAt = 0;
    const reason = await checkFree(0).then(
      () => null,
      (error: unknown) => asError(error).message,
    );
    if (!isWriting && !isClosing) setStopped(reason);
  }
  const probing = setInterval(() => void probe(), freeCheckMs);

  async function begin(firstID: number): Promise<void> {
    try {
      await writer.begin(firstID);
    } catch (error) {
      setStopped(asError(error).message);
    }
  }

  return {
    get stopped() {
      return stopped;
    },
    write: async (batch) => {
      isWriting = true;
      try {
        return await writeUntilTaken(batch);
      } finally {
        isWriting = false;
      }
    },
    begin,
    stopTrying: () => {
      isClosing = true;
      clearInterval(probing);
    },
  };
}
