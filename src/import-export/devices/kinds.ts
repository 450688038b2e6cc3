import { join } from "node:path";
import type { Actor } from "../../../store/metadata/db/changes.js";
import type { Db } from "../../../store/metadata/db/db.js";
import type { Filter } from "../../../store/metadata/db/table.js";
import type { Task } from "../../../store/metadata/tasks.js";
import type { Config } from "../../config/config.js";
import { masterKey } from "../../host/master-key.js";
import { metadataAddress } from "../../host/metadata.js";
import { type TaskContext, TaskFailure, type TaskKind } from "../../tasks/task-kind.js";
import type { FormatName } from "./formats.js";
import { stagingTable } from "./import-devices.js";
import { runTransfer } from "./run-transfer.js";
import { importMsg, JobFailure, type TransferJob, type TransferOutcome } from "./transfer-job.js";

/** The tasks' inputs, stored as JSON. */
export interface ExportInput {
  readonly filters: readonly Filter[];
  readonly codesB: boolean;
  readonly format: FormatName;
}
export interface ImportInput {
  /** Name of the uploaded file in the tasks' folder. */
  readonly upload: string;
  readonly format: FormatName;
}

export const devicesExport = "devices_export";
export const devicesImport = "devices_import";

interface TransferKindDeps {
  readonly config: Config;
  readonly db: Db;
}

/** Writes the file anew after a restart. */
export function devicesExportKind(deps: TransferKindDeps): TaskKind {
  return {
    resumes: true,
    lane: "transfer",
    run: async (context) => {
      const { task, dir } = context;
      const { format, filters, codesB } = task.input as ExportInput;
      const file = `devices-${task.id}.${format}`;
      const selection = { tenant: task.tenant, filters, codesB };
      const job: TransferJob = { kind: "export", selection, format, path: join(dir, file) };
      try {
        return { msg: { export_success_num: (await run(deps, context, job, file)).count }, file };
      } catch (error) {
        // Whatever the reason for the failure: nobody reads the file, and the next start would write it again.
        await context.space.remove(file);
        if (!(error instanceof JobFailure)) throw error;
        throw new TaskFailure(error.message);
      }
    },
  };
}

/** An import that a restart cuts short has stored nothing, and the caller still has the file. */
export function devicesImportKind(deps: TransferKindDeps): TaskKind {
  return {
    resumes: false,
    lane: "transfer",
    run: async (context) => {
      const { task, dir } = context;
      const { format, upload } = task.input as ImportInput;
      const path = join(dir, upload);
      const errorsFile = `devices-errors-${task.id}.csv`;
      const names = { task: task.id, actor: toActor(task), errorsPath: join(dir, errorsFile) };
      let listed = false;
      try {
        const job: TransferJob = { kind: "import", format, path, ...names };
        return { msg: importMsg(await run(deps, context, job, errorsFile)) };
      } catch (error) {
        if (!(error instanceof JobFailure)) throw error;
        listed = error.listed;
        throw new TaskFailure(error.message, listed ? errorsFile : null);
      } finally {
        if (!listed) await context.space.remove(errorsFile);
        await context.space.remove(upload);
      }
    },
    abandon: async (task) => {
      if (deps.config.libsql !== null) await deps.db.all(`drop table if exists ${stagingTable(task.id)}`);
    },
  };
}

/** @param file the file that the job writes in the tasks' folder; it counts for the tenant's share of the disk */
function run(
  { config, db }: TransferKindDeps,
  { space, task, signal, progress }: TaskContext,
  job: TransferJob,
  file: string,
): Promise<TransferOutcome> {
  const deps = { db, database: metadataAddress(config), masterKey: () => masterKey(config) };
  // Progress that cannot be saved is no reason to fail; the end is saved again by the runner.
  return runTransfer(deps, job, {
    room: space.claim(task.tenant, file),
    signal,
    progress: (current) => {
      progress(Math.min(current, 99)).catch(() => undefined);
    },
  });
}

function toActor({ tenant, userIntID, username }: Task): Actor {
  return { tenant, userIntID, username };
}
