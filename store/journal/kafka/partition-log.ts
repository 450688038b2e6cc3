/** What the journal needs of a log that other machines keep: one partition, frames in the order of their offsets. */
import { StoreError, type StoreErrorCode } from "../../lib/errors.js";

export interface LoggedFrame {
  readonly offset: number;
  /** By the log's own clock, milliseconds since 1970. */
  readonly appendedAt: number;
  /** A view of what was fetched: keeping it keeps up to `fetchBytesMax` and the frame that it belongs to. */
  readonly frame: Buffer;
}

export interface PartitionLog {
  /**
   * Appends a frame; resolves with its offset once it is kept as the topic promises. One at a time: a call while
   * another is under way is refused. After an unknown outcome the frame may still appear, even later than frames that
   * were appended since: append the same bytes again, and let readers drop the one that comes second.
   * @throws AppendError, after the append's time at the latest
   */
  append(frame: Uint8Array): Promise<number>;
  /** The lowest offset that is still kept. @throws StoreError UNAVAILABLE after the call's time */
  start(): Promise<number>;
  /**
   * One more than the highest offset that can be read. A leader that does not know yet that it was deposed may
   * return too little, never too much: only an own append confirms what came before it.
   * @throws StoreError UNAVAILABLE after the call's time
   */
  end(): Promise<number>;
  /**
   * The frames from offset `from` on, below `until`; with Infinity it waits for more until `signal` is aborted. Holds
   * one fetch at a time. What is away is tried again for the call's time after the last progress.
   * @throws StoreError NOT_FOUND if `from` lies outside what is kept, CORRUPT if what is there cannot be read as
   *   frames or one is missing, UNAVAILABLE
   */
  read(from: number, until: number, signal?: AbortSignal): AsyncGenerator<LoggedFrame, void>;
  /**
   * Lets the frames below `offset` go; resolves with the lowest offset kept. Disk space follows by whole segments.
   * @throws StoreError NOT_FOUND if `offset` is beyond the end, UNAVAILABLE
   */
  deleteBefore(offset: number): Promise<number>;
  /** Ends what is under way with errors. */
  close(): void;
}

/** Why an append has no offset. */
export class AppendError extends StoreError {
  constructor(
    /** `not written`: the frame is not in the log and will not come. `unknown`: it may be, now or later. */
    readonly outcome: "not written" | "unknown",
    code: StoreErrorCode,
    cause: string,
  ) {
    const result = outcome === "unknown" ? "whether it was written is unknown" : "it was not written";
    super(code, `cannot append a frame: ${cause}; ${result}`);
    this.name = "AppendError";
  }
}
