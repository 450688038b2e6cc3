import type { SeriesRefs } from "../../../query/series-refs.js";
import { asError } from "../../../store/lib/errors.js";
import { singleFlight } from "../../../store/lib/single-flight.js";
import type { Db } from "../../../store/metadata/db/db.js";
import type { SeriesStore } from "../../../store/series/series.js";
import { startThread } from "../../host/thread.js";
import type { DiskClaim, DiskSpace } from "../../http/disk-space.js";
import { untilServed } from "../../tasks/until-served.js";
import { FormatError } from "../format-error.js";
import type { ReadBatch } from "./batch-builder.js";
import { type ErrorList, type ErrorListState, noErrors, openErrorList } from "./error-list.js";
import type { HistoryGate } from "./gate.js";
import type { FromImport, ImportStart, ToImport } from "./import-messages.js";
import { toSeriesBatch } from "./series-batch.js";
import { createImportTargets } from "./targets.js";

/** How far an import has got; everything before is on disk in the series store. */
export interface ImportState {
  readonly offset: number;
  readonly line: number;
  readonly stored: number;
  readonly errors: ErrorListState;
}

export interface ImportDeps {
  readonly db: Db;
  readonly series: SeriesStore;
  readonly refs: SeriesRefs;
  readonly gate: HistoryGate;
  /**
   * Points are written while the disk has space for them beside the journal; null if the store writes as long as the
   * disk takes anything.
   */
  readonly space: Pick<DiskSpace, "check"> | null;
}

export interface ImportRun extends Omit<ImportStart, "position"> {
  readonly tenant: number;
  readonly errorsPath: string;
  /** The disk space of the list of errors; null if it is not counted. */
  readonly errorsRoom: Pick<DiskClaim, "grow"> | null;
  /** Where an earlier run stopped; null for the beginning. */
  readonly from: ImportState | null;
  readonly signal: AbortSignal;
  /** Called now and then, and at the end: the import can continue from this state. */
  saved(state: ImportState): Promise<void>;
}

const saveMs = 5000;
const heapMegabytesMax = 128;

/**
 * Stores the points of a history file. Writing a point again changes nothing, so a run that continues from an older
 * state, or from none, has the same result. @throws FormatError if the file cannot be read, Error if aborted
 */
export async function runImport(deps: ImportDeps, run: ImportRun): Promise<ImportState> {
  const { series } = deps;
  const { file, bounds, timezone, from, signal } = run;
  const errors = await openErrorList(run.errorsPath, from?.errors ?? noErrors, run.errorsRoom);
  const writer = createBatchWriter(deps, run, errors);
  let { offset, line } = from ?? { offset: 0, line: 1 };
  let failure: Error | null = null;
  let ended = false;
  const state = (): ImportState => ({ offset, line, stored: writer.stored, errors: errors.state });
  const saver = createSaver(series, run, state, fail);

  async function serve(message: FromImport): Promise<void> {
    if (failure !== null || signal.aborted) return;
    if (message.kind === "resolve") {
      const answers = await untilServed(signal, () => writer.targets.resolve(message.names));
      thread.send({ kind: "resolved", answers });
    } else if (message.kind === "batch") {
      await writer.write(message.batch);
      ({ offset, line } = message.position);
      thread.send({ kind: "done" });
      saver.saveSoon();
    } else if (message.kind === "reset") {
      writer.targets.reset();
      thread.send({ kind: "reset" });
    } else if (message.kind === "failed") {
      throw message.format ? new FormatError(message.message) : new Error(message.message);
    } else ended = true;
  }

  function fail(error: unknown): void {
    failure ??= asError(error);
    stop();
  }

  let served: Promise<void> = Promise.resolve();
  let exited: () => void = () => undefined;
  const exit = new Promise<void>((resolve) => {
    exited = resolve;
  });
  const start: ImportStart = { file, bounds, timezone, position: from === null ? null : { offset, line } };
  const thread = startThread<FromImport, ToImport>(new URL("./import.worker.js", import.meta.url), {
    start,
    heapMegabytesMax,
    onMessage: (message) => {
      served = served.then(() => serve(message)).catch(fail);
    },
    onError: fail,
    onExit: exited,
  });
  const stop = (): void => void thread.terminate();
  signal.addEventListener("abort", stop, { once: true });
  // An abort that came earlier fires no event.
  if (signal.aborted) stop();

  try {
    await exit;
    await served;
    await saver.settled();
    signal.throwIfAborted();
    if (failure !== null) throw failure;
    if (!ended) throw new Error("the import's thread ended too early");
    await untilServed(signal, () => series.flush());
    const last = state();
    await run.saved(last);
    return last;
  } finally {
    signal.removeEventListener("abort", stop);
    await thread.terminate();
    await errors.close();
  }
}

/** Writes batches to the series store, and lists the rows that it does not take. */
function createBatchWriter(deps: ImportDeps, { tenant, signal, from }: ImportRun, errors: ErrorList) {
  const { series, gate, space } = deps;
  const targets = createImportTargets({ ...deps, tenant });
  let stored = from?.stored ?? 0;

  async function writeNow(batch: ReadBatch): Promise<void> {
    await space?.check();
    const { points, lines, gone } = await toSeriesBatch(batch, targets);
    const refused = points.times.length === 0 ? [] : await series.writeBatch(points);
    const bad = refused.map(({ index, reason }) => ({
      line: lines[index] ?? 0,
      column: "",
      error: `the store refuses it: ${reason}`,
    }));
    await errors.add([...gone, ...bad]);
    stored += lines.length - refused.length;
  }

  return {
    targets,
    get stored() {
      return stored;
    },
    write: async (batch: ReadBatch) => {
      await errors.add(batch.bad);
      await untilServed(signal, () => gate.run(() => writeNow(batch)));
    },
  };
}

/** Makes written points durable now and then, while writing goes on. */
function createSaver(
  series: Pick<SeriesStore, "flush">,
  { signal, saved }: ImportRun,
  state: () => ImportState,
  onFailure: (error: unknown) => void,
) {
  let savedAt = performance.now();
  const saving = singleFlight(async () => {
    const reached = state();
    try {
      await untilServed(signal, () => series.flush());
      await saved(reached);
    } finally {
      savedAt = performance.now();
    }
  });
  return {
    saveSoon: () => {
      if (saving.running !== null || performance.now() - savedAt < saveMs) return;
      // The failure is reported at the next step or at the end.
      saving.run().catch(onFailure);
    },
    /** Resolves once no save is under way. */
    settled: () => saving.running?.catch(() => undefined),
  };
}
