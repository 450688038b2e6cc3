import { Worker } from "node:worker_threads";
import type { SeriesRefs } from "../../../query/series-refs.js";
import { asError } from "../../../store/lib/errors.js";
import { threadLimits } from "../../../store/lib/thread-limits.js";
import type { Db } from "../../../store/metadata/db/db.js";
import type { SeriesStore } from "../../../store/series/series.js";
import type { DiskClaim, DiskSpace } from "../../http/disk-space.js";
import { untilServed } from "../../tasks/until-served.js";
import { FormatError } from "../devices/table-file.js";
import type { ReadBatch } from "./batch-builder.js";
import { type ErrorListState, noErrors, openErrorList } from "./error-list.js";
import type { HistoryGate } from "./gate.js";
import type { FromImport, ImportStart, ToImport } from "./import-messages.js";
import { toSeriesBatch } from "./series-batch.js";
import { createTargets } from "./targets.js";

/** How far an import has got, with everything before on disk in the series store. */
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
  /** Points are written while the disk has room for them beside the journal; null: as long as it takes any. */
  readonly space: Pick<DiskSpace, "check"> | null;
}

export interface ImportRun extends Omit<ImportStart, "place"> {
  readonly tenant: number;
  readonly errorsPath: string;
  /** For the list of errors; null: it is not counted. */
  readonly errorsRoom: Pick<DiskClaim, "grow"> | null;
  /** Where an earlier run stood; null begins. */
  readonly from: ImportState | null;
  readonly signal: AbortSignal;
  /** Told now and then, and at the end: from here the import can go on. */
  saved(state: ImportState): Promise<void>;
}

const saveMs = 5000;
const heapMegabytesMax = 128;

/**
 * Stores the points of a history file. Writing a point again changes nothing, so a run that goes on from an older
 * state, or from none, comes to the same end. @throws FormatError when the file is none, Error when aborted
 */
export async function runImport(deps: ImportDeps, run: ImportRun): Promise<ImportState> {
  const { series, gate } = deps;
  const { file, bounds, timezone, tenant, from, signal } = run;
  const targets = createTargets({ ...deps, tenant });
  const errors = await openErrorList(run.errorsPath, from?.errors ?? noErrors, run.errorsRoom);
  let { offset, line, stored } = from ?? { offset: 0, line: 1, stored: 0 };
  const state = (): ImportState => ({ offset, line, stored, errors: errors.state });

  async function write(batch: ReadBatch): Promise<void> {
    await errors.add(batch.bad);
    await untilServed(signal, () =>
      gate.run(async () => {
        await deps.space?.check();
        const { points, lines, gone } = await toSeriesBatch(batch, targets);
        const refused = points.times.length === 0 ? [] : await series.writeBatch(points);
        const bad = refused.map(({ index, reason }) => ({
          ...{ line: lines[index] ?? 0, column: "", error: `the store refuses it: ${reason}` },
        }));
        await errors.add([...gone, ...bad]);
        stored += lines.length - refused.length;
      }),
    );
  }

  let saving: Promise<void> | null = null;
  let savedAt = performance.now();
  /** What was written up to now is made durable while writing goes on. */
  function save(): void {
    if (saving !== null || performance.now() - savedAt < saveMs) return;
    const reached = state();
    saving = untilServed(signal, () => series.flush())
      .then(() => run.saved(reached))
      .finally(() => {
        savedAt = performance.now();
        saving = null;
      });
    // The next step or the end hears of it.
    saving.catch(fail);
  }

  let failure: Error | null = null;
  let stop: () => void = () => undefined;
  function fail(error: unknown): void {
    failure ??= asError(error);
    stop();
  }

  const start: ImportStart = { file, bounds, timezone, place: from === null ? null : { offset, line } };
  const worker = new Worker(new URL("./import.worker.js", import.meta.url), {
    workerData: start,
    resourceLimits: { ...threadLimits, maxOldGenerationSizeMb: heapMegabytesMax },
  });
  stop = () => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  // An abort that came before is not told again.
  if (signal.aborted) stop();
  const answer = (message: ToImport) => worker.postMessage(message);
  let ended = false;

  async function serve(message: FromImport): Promise<void> {
    if (failure !== null || signal.aborted) return;
    if (message.kind === "resolve") {
      const answers = await untilServed(signal, () => targets.resolve(message.names));
      answer({ kind: "resolved", answers });
    } else if (message.kind === "batch") {
      await write(message.batch);
      ({ offset, line } = message.place);
      answer({ kind: "done" });
      save();
    } else if (message.kind === "reset") {
      targets.reset();
      answer({ kind: "reset" });
    } else if (message.kind === "failed") {
      throw message.format ? new FormatError(message.message) : new Error(message.message);
    } else ended = true;
  }

  try {
    let turn: Promise<void> = Promise.resolve();
    await new Promise<void>((resolve) => {
      worker.on("message", (message: FromImport) => {
        turn = turn.then(() => serve(message)).catch(fail);
      });
      worker.once("error", fail);
      worker.once("exit", () => resolve());
    });
    await turn;
    await (saving as Promise<void> | null)?.catch(() => undefined);
    signal.throwIfAborted();
    if (failure !== null) throw failure;
    if (!ended) throw new Error("the import's thread ended too early");
    await untilServed(signal, () => series.flush());
    const last = state();
    await run.saved(last);
    return last;
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
    await errors.close();
  }
}
