import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aheadMaxMicros } from "../../../ingest/decode/points.js";
import { latestTime } from "../../../store/lib/time-range.js";
import type { Task } from "../../../store/metadata/tasks.js";
import { type TaskContext, TaskFailure, type TaskKind } from "../../tasks/task-kind.js";
import { FormatError } from "../format-error.js";
import type { HistoryFormat } from "./limits.js";
import type { TimeBounds } from "./row-taker.js";
import { type ImportDeps, type ImportState, runImport } from "./run-import.js";

export const historyImport = "original_data_import";

/** The task's input, stored as JSON. */
export interface HistoryImportInput {
  /** Name of the spooled file in the tasks' folder. */
  readonly upload: string;
  readonly format: HistoryFormat;
}

export interface HistoryKindDeps extends ImportDeps {
  readonly timezone: string;
  /** Times before it are refused; microseconds. */
  readonly earliest: number;
  /** The oldest time kept, microseconds; 0 = no limit. */
  readonly oldest: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** After a restart the import continues from the last point that was safe on disk. */
export function historyImportKind(deps: HistoryKindDeps): TaskKind {
  return {
    resumes: true,
    lane: "history",
    keeps: (task) => listTaskFiles(task),
    run: async (context) => {
      const { task, dir, space, signal } = context;
      const { upload, format } = task.input as HistoryImportInput;
      const [, stateName, errorsListName] = listTaskFiles(task);
      const [path, statePath] = [join(dir, upload), join(dir, stateName)];
      const errorsPath = join(dir, errorsListName);
      const errorsRoom = space.claim(task.tenant, errorsListName);
      const removeAll = (...names: readonly string[]) => Promise.all(names.map(space.remove));
      const from = await readState(statePath);
      try {
        const { size } = await stat(path).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT") throw error;
          throw new TaskFailure("the uploaded file is gone");
        });
        const last = await runImport(deps, {
          file: { path, format },
          tenant: task.tenant,
          errorsPath,
          errorsRoom,
          from,
          signal,
          timezone: deps.timezone,
          bounds: importBounds(deps),
          saved: (state) => save(context, statePath, state, size),
        });
        errorsRoom.settle();
        await removeAll(upload, stateName);
        const file = last.errors.count === 0 ? undefined : errorsName(task);
        if (file === undefined) await removeAll(errorsListName);
        return { msg: formatImportMessage(last), ...(file === undefined ? {} : { file }) };
      } catch (error) {
        // The next start needs the files.
        if (!signal.aborted) await removeAll(upload, stateName, errorsListName);
        if (error instanceof FormatError) throw new TaskFailure(error.message);
        throw error;
      }
    },
  };
}

export function importBounds({
  earliest,
  oldest,
  now,
}: Pick<HistoryKindDeps, "earliest" | "oldest" | "now">): TimeBounds {
  const limit = oldest();
  return {
    earliest,
    oldest: limit === 0 ? earliest : Math.max(earliest, limit),
    newest: Math.min(latestTime, now() * 1000 + aheadMaxMicros),
  };
}

const errorsName = (task: Task): string => `import-errors-${task.id}.csv`;

/** The upload, the state, the list of bad rows: names in the tasks' folder. */
function listTaskFiles(task: Task): [upload: string, state: string, errors: string] {
  return [(task.input as HistoryImportInput).upload, `import-state-${task.id}.json`, errorsName(task)];
}

/** How far an import had got; null if that is unknown, and it then stores the same points again from its beginning. */
export async function readState(path: string): Promise<ImportState | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as ImportState;
  } catch {
    return null;
  }
}

/** Written in full under another name first, so that a kill leaves the old state or the new one. */
async function save(context: TaskContext, path: string, state: ImportState, size: number): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(state));
  await rename(`${path}.new`, path);
  const current = size === 0 ? 99 : Math.min(99, (100 * state.offset) / size);
  // Progress that cannot be saved is no reason to fail.
  await context.progress(current, formatImportMessage(state)).catch(() => undefined);
}

export function formatImportMessage({ stored, errors }: ImportState) {
  return {
    import_success_num: stored,
    import_failure_num: errors.count,
    errors: errors.told.map(({ line, column, error }) => ({ line, column, error })),
  };
}
