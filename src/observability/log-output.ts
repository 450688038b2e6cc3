/** Where log lines go: a stream whose reader may be slow, or gone. */
import type { Writable } from "node:stream";

interface LogOutput {
  /** Never throws and never waits: a line beyond the bound, or without a reader, is dropped. */
  write(line: string): void;
  /** Lines dropped so far. */
  readonly dropped: number;
}

/** What may wait for a slow reader. */
const logBytesMax = 4 << 20;

/**
 * The process goes on without its log: a reader that has ended (EPIPE) or a full disk costs the lines until they can be
 * written again, and one line then says how many.
 * @param now milliseconds since 1970
 */
export function createLogOutput(out: Writable, now: () => number, bytesMax = logBytesMax): LogOutput {
  let dropped = 0;
  /** Dropped, and no line has said so. */
  let unsaid = 0;
  let waitingBytes = 0;
  // Each failed write also reports to its own callback.
  out.on("error", () => undefined);

  function drop(lines: number): void {
    dropped += lines;
    unsaid += lines;
  }

  function send(text: string, onWritten: () => void, onFailed: () => void): void {
    const bytes = Buffer.byteLength(text);
    waitingBytes += bytes;
    out.write(text, (error) => {
      waitingBytes -= bytes;
      if (error) onFailed();
      else onWritten();
    });
  }

  /** After a line that has been written: another has a chance. */
  function sayDropped(): void {
    if (unsaid === 0) return;
    const lines = unsaid;
    unsaid = 0;
    const time = new Date(now()).toISOString();
    const msg = "log lines were dropped: nobody has read them in time";
    send(
      `${JSON.stringify({ time, level: "warn", msg, lines })}\n`,
      () => undefined,
      () => {
        unsaid += lines;
      },
    );
  }

  return {
    write: (line) => {
      if (waitingBytes + line.length > bytesMax) drop(1);
      else send(line, sayDropped, () => drop(1));
    },
    get dropped() {
      return dropped;
    },
  };
}
