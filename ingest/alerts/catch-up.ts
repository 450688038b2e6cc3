/** Reads the journal for a consumer that is offered records, whenever the offers do not follow on its position. */
import type { Journal } from "../../store/journal/journal.js";
import { sleep } from "../../store/lib/abortable.js";
import { asError } from "../../store/lib/errors.js";
import { singleFlight } from "../../store/lib/single-flight.js";
import { followJournal, type RecordConsumer } from "../followers/follower.js";

interface CatchUp {
  readonly isReading: boolean;
  /** Begins to read soon, unless it reads already. */
  start(): void;
  /** Resolves once nothing is read any more; the signal must have been aborted. */
  close(): Promise<void>;
}

interface CatchUpOptions {
  readonly journal: Journal;
  /** Takes the records that are read. */
  readonly consumer: RecordConsumer;
  /** Every record at or below it has been taken. */
  readonly position: () => number;
  readonly onFailure: (error: Error) => void;
}

/** The source of live records may wait for its store: after this time without a record the journal is read. */
const stallMs = 1000;
/** Waits this long for others before it reads on: thousands of devices connect at once. */
const readDelayMs = 10;

export function createCatchUp(
  { journal, consumer, position, onFailure }: CatchUpOptions,
  signal: AbortSignal,
): CatchUp {
  const reading = singleFlight(read);
  let seenAt = position();

  async function read(): Promise<void> {
    await sleep(readDelayMs, signal);
    await followJournal(await journal.read(position()), consumer, signal);
  }

  function start(): void {
    if (reading.running !== null || signal.aborted) return;
    reading.run().catch((error: unknown) => onFailure(asError(error)));
  }

  const stallTimer = setInterval(() => {
    if (position() < journal.committedID && position() === seenAt) start();
    seenAt = position();
  }, stallMs);

  return {
    get isReading() {
      return reading.running !== null;
    },
    start,
    close: async () => {
      clearInterval(stallTimer);
      await reading.running?.catch(() => undefined);
    },
  };
}
