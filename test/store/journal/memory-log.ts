/** A log in memory, with the faults that one on other machines has. */
import {
  AppendError,
  type LoggedFrame,
  type PartitionLog,
} from "../../../store/journal/kafka/partition-log.js";
import { StoreError } from "../../../store/lib/errors.js";

/**
 * What happens to one append: it is kept; refused; kept without an answer; or it arrives after so many later appends
 * (never, with Infinity), without an answer.
 */
export type Outcome = "kept" | "refused" | "unanswered" | { readonly late: number };

export interface MemoryLog {
  /** The frames from `first` on. */
  readonly frames: Buffer[];
  first: number;
  /** Its clock. */
  now: () => number;
  /** As one process has it: closed, it answers no more. */
  connect(): PartitionLog;
}

/** @param outcome asked once for each append */
export function createMemoryLog(outcome: () => Outcome = () => "kept"): MemoryLog {
  const frames: Buffer[] = [];
  let delayed: { left: number; readonly frame: Buffer }[] = [];
  const log: MemoryLog = { frames, first: 0, now: Date.now, connect };
  const end = (): number => log.first + frames.length;

  function land(frame: Buffer): number {
    frames.push(frame);
    const due = delayed.filter((one) => --one.left < 0);
    delayed = delayed.filter((one) => one.left >= 0);
    const offset = end() - 1;
    frames.push(...due.map((one) => one.frame));
    return offset;
  }

  function connect(): PartitionLog {
    let isClosed = false;
    const open = (): void => {
      if (isClosed) throw new StoreError("UNAVAILABLE", "the log is closed");
    };
    return {
      append: async (bytes) => {
        open();
        const frame = Buffer.from(bytes);
        const wanted = outcome();
        await new Promise((resolve) => setImmediate(resolve));
        if (wanted === "refused") throw new AppendError("not written", "UNAVAILABLE", "too few replicas");
        if (typeof wanted === "object") delayed.push({ left: wanted.late, frame });
        else {
          const offset = land(frame);
          if (wanted === "kept") return offset;
        }
        throw new AppendError("unknown", "UNAVAILABLE", "no answer");
      },
      start: async () => {
        open();
        return log.first;
      },
      end: async () => {
        open();
        return end();
      },
      async *read(from, until): AsyncGenerator<LoggedFrame, void> {
        open();
        if (from < log.first || from > end())
          throw new StoreError("NOT_FOUND", `offset ${from} lies outside what the log keeps`);
        for (let offset = from; offset < until; offset++) {
          const frame = frames[offset - log.first];
          if (frame === undefined) throw new StoreError("UNAVAILABLE", `offset ${offset} is not there yet`);
          await new Promise((resolve) => setImmediate(resolve));
          yield { offset, appendedAt: log.now(), frame: Buffer.from(frame) };
        }
      },
      deleteBefore: async (offset) => {
        open();
        frames.splice(0, Math.max(0, offset - log.first));
        log.first = Math.max(log.first, offset);
        return log.first;
      },
      close: () => {
        isClosed = true;
      },
    };
  }
  return log;
}
