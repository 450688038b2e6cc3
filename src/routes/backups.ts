import { z } from "@hono/zod-openapi";
import { unfinished } from "../backup/backup.js";
import { isBackupName, type StoredBackup } from "../backup/backup-folder.js";
import { backupMake, backupVerify } from "../backup/backup-jobs.js";
import { type Backups, folderFailure } from "../backup/backups.js";
import { type ApiCaller, requireDeployment } from "../http/caller.js";
import { ApiError, invalid } from "../http/errors.js";
import { wholeNumber } from "../http/list-query.js";
import { type Route, route } from "../http/route.js";
import { intOrNull, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { statusUrl } from "../tasks/runner.js";
import { backupExample, backupSchema, backupView } from "../views/backups.js";
import type { Stamped } from "../views/context.js";
import type { AppDeps } from "./deps.js";

const tag = "Service";
const path = "/api/v1/backups";
const pageDefault = 20;
const pageMax = 100;
const exampleUrl = "/task_status/0f1e2d3c4b5a69788796a5b4c3d2e1f0";

const nameParams = z.object({
  name: z.string().openapi({
    param: { name: "name", in: "path" },
    description: "as the list has it",
    example: "20261121T030000Z",
  }),
});

const begun = z
  .object({ statusUrl: z.string(), name: z.string() })
  .openapi({ example: { statusUrl: exampleUrl, name: "20261121T030000Z" } });

const running = z
  .object({
    kind: z.enum([backupMake, backupVerify]),
    name: z.string(),
    statusUrl: textOrNull.openapi({ description: "null until it has its turn" }),
  })
  .nullable();

const listed = z
  .object({
    folder: z.string().openapi({ description: "BACKUP_DIR" }),
    keep: intOrNull.openapi({ description: "BACKUP_KEEP" }),
    schedule: textOrNull.openapi({ description: "BACKUP_SCHEDULE, in the deployment's zone" }),
    nextAt: stampOrNull.openapi({ description: "when the schedule is next due" }),
    running: running.openapi({ description: "the task that works on one of them now" }),
    failure: z.object({ at: stampText, reason: z.string() }).nullable().openapi({
      description: "of the newest backup of this run of the service, unless it is complete",
    }),
    items: z.array(backupSchema),
    next: textOrNull.openapi({ description: "`before` of the next page; null on the last one" }),
  })
  .openapi("Backups", {
    example: {
      folder: "/mnt/backups",
      keep: 14,
      schedule: "0 3 * * *",
      nextAt: "2026-11-22 03:00:00",
      running: null,
      failure: null,
      items: [backupExample],
      next: null,
    },
  });

/**
 * Backups of this process's data folder, for the operator of the deployment. The API neither downloads nor restores
 * them.
 */
export function backupRoutes({ backups }: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path,
      access: "admin",
      tag,
      summary: "Backups in BACKUP_DIR, newest first; 404 where none is set",
      shape: {
        query: z.object({
          _limit: z
            .string()
            .optional()
            .openapi({ description: `page size, at most ${pageMax}`, example: "20" }),
          before: z.string().optional().openapi({
            description: "a name, also of one that has gone: older ones alone",
            example: "20261121T030000Z",
          }),
        }),
      },
      answer: { status: 200, schema: listed },
      errors: ["DATA_NOT_FOUND", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, query, writing }) => {
        requireDeployment(caller);
        const errors: Record<string, string> = {};
        const limit = wholeNumber(query._limit || undefined, pageDefault, 1, pageMax, "_limit", errors);
        if (Object.keys(errors).length > 0) throw invalid(errors);
        const body = await listBackups(set(backups), query.before ?? "", limit, writing);
        return { status: 200, body, headers: { "Cache-Control": "no-store" } };
      },
    }),
    route({
      method: "post",
      path,
      access: "admin",
      tag,
      summary: "Make a backup in BACKUP_DIR; a task, one at a time",
      answer: { status: 202, schema: begun },
      errors: ["DATA_NOT_FOUND", "IN_PROGRESS", "RESOURCE_LIMITED"],
      handle: async ({ caller }) => {
        const { taskID, name } = await mine(backups, caller).begin(caller);
        return { status: 202, body: { statusUrl: statusUrl(taskID), name } };
      },
    }),
    route({
      method: "post",
      path: `${path}/{name}/verify`,
      access: "admin",
      tag,
      summary: "Compare every byte of a backup with its checksums, and read all of it; a task, one at a time",
      shape: { params: nameParams },
      answer: { status: 202, schema: begun },
      errors: ["DATA_NOT_FOUND", "IN_PROGRESS", "RESOURCE_LIMITED"],
      handle: async ({ caller, params }) => {
        const { taskID, name } = await mine(backups, caller).verify(caller, params.name);
        return { status: 202, body: { statusUrl: statusUrl(taskID), name } };
      },
    }),
    route({
      method: "delete",
      path: `${path}/{name}`,
      access: "admin",
      tag,
      summary: "Remove a backup, or what an unfinished one has left",
      shape: { params: nameParams },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND", "IN_PROGRESS", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, params }) => {
        await mine(backups, caller).remove(caller, params.name);
        return { status: 204 };
      },
    }),
  ];
}

/** @throws ApiError DATA_NOT_FOUND where no folder is set */
function set(backups: Backups | null): Backups {
  if (backups !== null) return backups;
  throw new ApiError(
    "DATA_NOT_FOUND",
    "the service makes no backups: BACKUP_DIR is not set; tidemark backup makes them",
    { BACKUP_DIR: "is not set" },
  );
}

function mine(backups: Backups | null, caller: ApiCaller): Backups {
  requireDeployment(caller);
  return set(backups);
}

async function listBackups(
  { folder, settings, jobs, nextAt }: Backups,
  before: string,
  limit: number,
  writing: Stamped,
): Promise<object> {
  if (before !== "" && !isBackupName(before)) throw invalid({ before: "is no name of a backup" });
  const names = await folder.names(before || undefined).catch((error: unknown) => {
    throw folderFailure(error);
  });
  const shown = names.slice(0, limit);
  const found: StoredBackup[] = [];
  for (const name of shown) {
    const one = await folder.find(name);
    // It may have gone in the meantime.
    if (one !== null) found.push(one);
  }
  const { running, failure } = jobs;
  const made = running?.kind === backupMake ? `${running.name}${unfinished}` : null;
  return {
    folder: folder.dir,
    keep: settings.keep,
    schedule: settings.schedule,
    nextAt: writing.stamp(nextAt),
    running: running && {
      kind: running.kind,
      name: running.name,
      statusUrl: running.taskID === null ? null : statusUrl(running.taskID),
    },
    failure: failure && { at: writing.stamp(failure.at), reason: failure.reason },
    items: found.map((one) => backupView(one, one.name === made, writing)),
    next: limit < names.length ? (shown.at(-1) ?? null) : null,
  };
}
