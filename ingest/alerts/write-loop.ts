/** Runs one write at a time: those that somebody waits for, and the one that is due when its delay is over. */
import { asError } from "../../store/lib/errors.js";

interface WriteLoop {
  /** Writes what is due after so long, unless that is scheduled already. */
  schedule(delayMs: number): void;
  /** Writes what is due after so long, whatever has been scheduled. */
  reschedule(delayMs: number): void;
  /** Runs the write once no other runs; does nothing after a failure. */
  alone(write: () => Promise<void>): Promise<void>;
  readonly isRunning: boolean;
  /** Whether a write has failed: none runs any more. */
  readonly hasFailed: boolean;
  /** Cancels what is scheduled, and waits for the write that runs. */
  end(): Promise<void>;
}

interface WriteLoopOptions {
  readonly writeDue: () => Promise<void>;
  /** Asked after each write; null: nothing waits to be written. */
  readonly nextDelayMs: () => number | null;
  /** A write has failed; called at most once, and not after the abort. */
  readonly onFailure: (error: Error) => void;
}

export function createWriteLoop(
  { writeDue, nextDelayMs, onFailure }: WriteLoopOptions,
  signal: AbortSignal,
): WriteLoop {
  let running: Promise<void> | null = null;
  let hasFailed = false;
  let timer: NodeJS.Timeout | undefined;

  function schedule(delayMs: number): void {
    if (!signal.aborted) timer ??= setTimeout(runDue, delayMs);
  }

  function cancel(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  function runDue(): void {
    timer = undefined;
    if (running === null && !hasFailed) void start(writeDue());
  }

  function start(write: Promise<void>): Promise<void> {
    running = write
      .catch((error: unknown) => {
        // Nobody holds any more what this write had taken out: nothing may be written after it.
        hasFailed = true;
        if (!signal.aborted) onFailure(asError(error));
      })
      .finally(() => {
        running = null;
        const delayMs = hasFailed ? null : nextDelayMs();
        if (delayMs !== null) schedule(delayMs);
      });
    return running;
  }

  return {
    schedule,
    reschedule: (delayMs) => {
      cancel();
      schedule(delayMs);
    },
    alone: async (write) => {
      while (running !== null) await running;
      if (!hasFailed) await start(write());
    },
    get isRunning() {
      return running !== null;
    },
    get hasFailed() {
      return hasFailed;
    },
    end: async () => {
      cancel();
      await running;
    },
  };
}
