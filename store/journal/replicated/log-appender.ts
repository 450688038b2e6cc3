import { asStoreError, StoreError } from "../../lib/errors.js";
import { AppendError, type PartitionLog } from "../kafka/partition-log.js";
import { decodeLogFrame } from "./log-frames.js";

/** Why the log is this process's no longer. */
export class OwnershipLost extends StoreError {
  constructor(owner: string, epoch: number) {
    super("CONFLICT", `another process has taken over the journal: ${owner}, with epoch ${epoch}`);
    this.name = "OwnershipLost";
  }
}

/** Appends this owner's frames. A frame that has an offset is in the log, and before every later claim. */
export interface LogAppender {
  /**
   * Resolves with the frame's offset. After a rejection the same frame must be appended again: it may be in the log.
   * @throws StoreError UNAVAILABLE, OwnershipLost for good
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
  /** Called once. */
  readonly onLost: (error: OwnershipLost) => void;
}

export function createLogAppender({ log, epoch, next: first, onLost }: AppenderOptions): LogAppender {
  let next = first;
  /** A frame whose first attempt may still reach the log. */
  let unresolved: Buffer | null = null;
  let lost: OwnershipLost | null = null;

  /** Whether a higher claim stands among the frames from `next` on, below `offset`. */
  async function refuseLaterClaims(offset: number): Promise<void> {
    for await (const { frame } of log.read(next, offset)) {
      const found = decodeLogFrame(frame);
      if (found.kind !== "claim" || found.epoch <= epoch) continue;
      lost = new OwnershipLost(found.owner, found.epoch);
      onLost(lost);
      throw lost;
    }
  }

  return {
    append: async (frame) => {
      if (lost !== null) throw lost;
      if (unresolved !== null && !unresolved.equals(frame))
        throw new Error("a frame of unknown outcome must be appended again before another one");
      try {
        const offset = await log.append(frame);
        if (offset < next) throw new StoreError("CORRUPT", `cannot append: ${shortened(offset, next)}`);
        // Between two frames of one owner there is nothing but second copies of its own, and claims.
        if (offset !== next) {
          unresolved = frame;
          await refuseLaterClaims(offset);
        }
        next = offset + 1;
        unresolved = null;
        return offset;
      } catch (error) {
        const isCertain = error instanceof AppendError && error.outcome === "not written";
        if (!isCertain) unresolved = frame;
        throw asStoreError(error);
      }
    },
    get next() {
      return next;
    },
  };
}

const shortened = (offset: number, next: number): string =>
  `the log went on at offset ${offset} though it held those up to ${next - 1}: it has lost frames`;
