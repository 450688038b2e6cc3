import { asStoreError, StoreError } from "../../lib/errors.js";
import { AppendError, type PartitionLog } from "../kafka/partition-log.js";
import { decodeLogFrame } from "./log-frames.js";

/** Appends this owner's frames. A frame that has an offset is in the log, and before every later claim. */
export interface LogAppender {
  /**
   * Resolves with the frame's offset. After a rejection the same frame must be appended again: it may be in the log.
   * @throws StoreError UNAVAILABLE; for good CONFLICT if another process has taken over, CORRUPT if the log is not as it
   *   was left
   */
  append(frame: Buffer): Promise<number>;
  /** The offset after the last frame that is known. */
  readonly next: number;
}

interface AppenderOptions {
  readonly log: Pick<PartitionLog, "append" | "read">;
  /** The owner's; a claim with a higher one ends it. */
  readonly epoch: number;
  readonly next: number;
  /** Called once, when nothing more can be appended for good. */
  readonly onEnded: (reason: StoreError) => void;
}

export function createLogAppender({ log, epoch, next: first, onEnded }: AppenderOptions): LogAppender {
  let next = first;
  /** A frame whose first attempt may still reach the log. */
  let unresolved: Buffer | null = null;
  let ended: StoreError | null = null;

  /** @throws StoreError CONFLICT if a higher claim stands among the frames from `next` on, below `offset` */
  async function refuseLaterClaims(offset: number): Promise<void> {
    try {
      for await (const { frame } of log.read(next, offset)) {
        const found = decodeLogFrame(frame);
        if (found.kind === "claim" && found.epoch > epoch) throw takenOver(found.owner);
      }
    } catch (error) {
      // No owner releases what comes after its own frames.
      if (error instanceof StoreError && error.code === "NOT_FOUND") throw takenOver("a later owner");
      throw error;
    }
  }

  async function append(frame: Buffer): Promise<number> {
    const offset = await log.append(frame);
    if (offset < next) throw new StoreError("CORRUPT", `cannot append: ${shortened(offset, next)}`);
    // Between two frames of one owner there is nothing but second copies, claims, and what a former owner sent late.
    if (offset !== next) await refuseLaterClaims(offset);
    return offset;
  }

  return {
    append: async (frame) => {
      if (ended !== null) throw ended;
      if (unresolved !== null && !unresolved.equals(frame))
        throw new Error("a frame of unknown outcome must be appended again before another one");
      try {
        const offset = await append(frame);
        next = offset + 1;
        unresolved = null;
        return offset;
      } catch (thrown) {
        const error = asStoreError(thrown);
        const isCertain = error instanceof AppendError && error.outcome === "not written";
        if (!isCertain) unresolved = frame;
        if (error.code === "CONFLICT" || error.code === "CORRUPT") {
          ended = error;
          onEnded(error);
        }
        throw error;
      }
    },
    get next() {
      return next;
    },
  };
}

function takenOver(by: string): StoreError {
  return new StoreError("CONFLICT", `another process has taken over the journal: ${by}`);
}

const shortened = (offset: number, next: number): string =>
  `the log went on at offset ${offset} though it held those up to ${next - 1}: it has lost frames`;
