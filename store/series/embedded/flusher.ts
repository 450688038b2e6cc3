import type { StoreError } from "../../lib/errors.js";
import { retryDelays } from "../../lib/retry.js";
import type { Lock } from "../../lib/scheduling.js";
import type { SeriesCatalog } from "./catalog.js";
import type { Checkpoints } from "./checkpoints.js";
import { toSeriesError } from "./failures.js";
import { createFlush, type Flush } from "./flush.js";
import { createMemtable, type Memtable } from "./memtable.js";
import type { Parts } from "./parts.js";
import type { Progress } from "./progress.js";
import type { WriterOptions } from "./protocol.js";
import type { SeriesRegistry } from "./registry.js";
import type { Repair } from "./repair.js";

export interface Flusher {
  /** Where points go now. */
  active(): Memtable;
  /** The tables that reads look at before the files, the older first. */
  tables(): Memtable[];
  /** Moves everything in memory to the files. @throws StoreError UNAVAILABLE after the first failed try. */
  flush(): Promise<void>;
  /** Begins a flush unless one is under way. */
  begin(): void;
  /** Why the flush under way has failed so far; undefined while all is well. */
  failure(): StoreError | undefined;
  onFlushed(listener: () => void): void;
  /** The checkpoints up to which points are in the files. */
  checkpoints(): Checkpoints;
  stop(): void;
}

const retryFirstMs = 500;
const retryMaxMs = 30_000;

interface Running {
  readonly table: Memtable;
  readonly job: Flush;
  readonly checkpoints: Checkpoints;
  /** The try under way, or the last one where that has failed. */
  attempt: Promise<void>;
  trying: boolean;
  readonly delays: ReturnType<typeof retryDelays>;
}

/** Two memtables in turn: one takes points while the other is written out, which is kept until that succeeds. */
export function createFlusher(deps: {
  options: WriterOptions;
  registry: SeriesRegistry;
  catalog: SeriesCatalog;
  parts: Parts;
  mender: Repair;
  lock: Lock;
  progress: Progress;
  floor: () => number;
}): Flusher {
  const { options, lock, progress } = deps;
  const bounds = { pointsMax: options.memtablePointsMax, textBytesMax: options.memtableTextBytesMax };
  let active = createMemtable(bounds);
  let spare = createMemtable(bounds);
  let running: Running | undefined;
  let failed: StoreError | undefined;
  let durable = progress.settled();
  let flushed: () => void = () => undefined;
  let retry: NodeJS.Timeout | undefined;
  const timer = setInterval(begin, options.flushIntervalMs);

  function begin(): void {
    if (running !== undefined || (active.points() === 0 && progress.settled() === durable)) return;
    const table = active;
    active = spare;
    const checkpoints = progress.settled();
    const job = createFlush({ ...deps, memtable: table, checkpoints });
    running = {
      table,
      job,
      checkpoints,
      attempt: Promise.resolve(),
      trying: false,
      delays: retryDelays(retryFirstMs, retryMaxMs),
    };
    attempt(running);
  }

  function attempt(current: Running): void {
    clearTimeout(retry);
    if (current.trying) return;
    current.trying = true;
    current.attempt = lock(current.job.run).then(
      () => finish(current),
      (error: unknown) => {
        current.trying = false;
        failed = toSeriesError(error, "flush points");
        retry = setTimeout(attempt, current.delays.next().value, current);
        flushed();
        throw failed;
      },
    );
    // Those who wait for the flush see the failure; where nobody waits it must not go unhandled.
    current.attempt.catch(() => undefined);
  }

  function finish(current: Running): void {
    durable = current.checkpoints;
    spare = current.table;
    spare.clear();
    running = undefined;
    failed = undefined;
    flushed();
  }

  async function flush(): Promise<void> {
    if (running !== undefined) {
      if (failed !== undefined) attempt(running);
      await running.attempt;
    }
    begin();
    await running?.attempt;
  }

  return {
    active: () => active,
    tables: () => (running === undefined ? [active] : [running.table, active]),
    flush,
    begin,
    failure: () => failed,
    onFlushed: (listener) => {
      flushed = listener;
    },
    checkpoints: () => durable,
    stop: () => {
      clearInterval(timer);
      clearTimeout(retry);
    },
  };
}
