import { StoreError } from "../../../store/lib/errors.js";
import {
  openStaging,
  type RowConflict,
  type StagedDevice,
  type Staging,
} from "../../../store/metadata/devices/import.js";
import { taskEnded } from "../../../store/metadata/tasks.js";
import { untilFree } from "../../devices/create-once-free.js";
import type { DiskClaim } from "../../http/disk-space.js";
import { FormatError } from "../format-error.js";
import { type FileHeader, readHeader } from "./device-columns.js";
import { formats } from "./formats.js";
import { createRowChecker, type RowChecker } from "./import-rows.js";
import { createRowErrors, type RowErrors, summarizeErrors, writeErrors } from "./row-errors.js";
import { countCharacters, type FileRow, rowsMax } from "./table-file.js";
import {
  type ImportJob,
  importMsg,
  JobFailure,
  type TransferContext,
  type TransferOutcome,
} from "./transfer-job.js";

/** The progress after each step; reading and checking the rows takes most of the time. */
const steps = { rows: 80, links: 85, conflicts: 92 } as const;
/** Rows stored together, and characters of their cells: a row may be as large as a thousand others. */
const rowsPerStep = 1000;
const charactersPerStep = 1_048_576;

/**
 * Checks every row, then stores all of them in one transaction, together with the task's success.
 * @throws JobFailure naming the first wrong row and column; nothing is stored then
 */
export async function importDevices(job: ImportJob, context: TransferContext): Promise<TransferOutcome> {
  const staging = await openStaging(context.store.db, stagingTable(job.task), context.local);
  try {
    return await importThrough(staging, job, context);
  } catch (error) {
    if (error instanceof FormatError) throw new JobFailure(error.message, false);
    throw error;
  } finally {
    // A local table goes with its connection anyway.
    await staging.remove().catch(() => undefined);
  }
}

/** The table of one import; a remote store keeps it until it is dropped. */
export const stagingTable = (task: string) => `device_import_${task.replaceAll(/\W/g, "")}`;

async function importThrough(
  staging: Staging,
  job: ImportJob,
  context: TransferContext,
): Promise<TransferOutcome> {
  const errors = createRowErrors();
  const { tenant } = job.actor;
  const outcome = await stageRows(staging, job, context, errors);
  context.progress(steps.rows);
  for (const row of await staging.link(tenant, errors.left)) {
    errors.add(row, "parentDevice", "there is no such device");
  }
  for (const row of circular(await staging.parents())) {
    errors.add(row, "parentDevice", "must not be the device itself or one below it");
  }
  context.progress(steps.links);
  // Not for the rows of a file that fails anyway.
  if (errors.count === 0) {
    await untilFree(() => {
      context.checkStop();
      return staging.meetsRemoval();
    });
  }
  await noteConflicts(staging, errors);
  await failIfAny(errors, job, context.room);
  context.progress(steps.conflicts);
  context.checkStop();
  const now = context.now();
  const success = taskEnded(now, job.task, importMsg(outcome));
  try {
    await context.exclusive(() => staging.store(job.actor, now, [success]));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // Another writer was faster: find the row and the name that are taken now.
    await noteConflicts(staging, errors);
    await failIfAny(errors, job, context.room);
    throw new JobFailure(error.message, false);
  }
  return outcome;
}

async function stageRows(
  staging: Staging,
  job: ImportJob,
  context: TransferContext,
  errors: RowErrors,
): Promise<TransferOutcome> {
  let header: FileHeader | null = null;
  let checker: RowChecker | null = null;
  let staged: StagedDevice[] = [];
  let count = 0;
  let characters = 0;
  for await (const row of formats[job.format].read(job.path)) {
    if (header === null || checker === null) {
      if (row.number !== 1) throw new FormatError("row 1 must name the columns");
      header = readHeader(row);
      checker = createRowChecker(context.store, job.actor.tenant, header, errors);
      continue;
    }
    context.checkStop();
    if (isEmpty(row)) continue;
    if (++count > rowsMax) throw new FormatError(`the file has more than ${rowsMax} rows`);
    staged.push(await checker.check(row));
    characters += rowCharacters(row);
    if (staged.length < rowsPerStep && characters < charactersPerStep) continue;
    await staging.add(staged);
    staged = [];
    characters = 0;
    // The number of rows is not known before the end, so half of the rest up to the limit is assumed.
    context.progress(steps.rows * (count / (count + rowsMax / 4)));
  }
  if (header === null) throw new FormatError("the file is empty");
  await staging.add(staged);
  return { count, ignored: [...header.ignored] };
}

function isEmpty({ cells }: FileRow): boolean {
  return cells.every((cell) => cell === null || cell === "");
}

function rowCharacters({ cells }: FileRow): number {
  return cells.reduce<number>((sum, cell) => sum + 8 + countCharacters(cell), 0);
}

async function noteConflicts(staging: Staging, errors: RowErrors): Promise<void> {
  if (errors.left <= 0) return;
  const found: readonly RowConflict[] = await staging.conflicts(errors.left);
  for (const { row, field, error } of found) errors.add(row, field, error);
}

async function failIfAny(errors: RowErrors, job: ImportJob, claim: DiskClaim): Promise<void> {
  if (errors.count === 0) return;
  // If there is no space for the list, the summary still says what is wrong.
  const listed = await writeErrors(job.errorsPath, errors, claim).then(
    () => true,
    (error: unknown) => {
      if (error instanceof JobFailure) return false;
      throw error;
    },
  );
  throw new JobFailure(summarizeErrors(errors), listed);
}

/** Rows whose parents form a cycle, with all rows of each cycle. */
function circular(links: readonly { readonly row: number; readonly parentRow: number }[]): number[] {
  const parents = new Map(links.map(({ row, parentRow }) => [row, parentRow]));
  const done = new Set<number>();
  const found: number[] = [];
  for (const start of parents.keys()) {
    const path = new Set<number>();
    let at: number | undefined = start;
    while (at !== undefined && !done.has(at) && !path.has(at)) {
      path.add(at);
      at = parents.get(at);
    }
    if (at !== undefined && path.has(at)) {
      const way = [...path];
      found.push(...way.slice(way.indexOf(at)));
    }
    for (const one of path) done.add(one);
  }
  return found.sort((a, b) => a - b);
}
