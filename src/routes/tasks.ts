import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import { getTask, listTasks, type Task, taskFilters, taskStates } from "../../store/metadata/tasks.js";
import { type ApiCaller, mayCall } from "../http/caller.js";
import { ApiError } from "../http/errors.js";
import { fileAnswer } from "../http/file-answer.js";
import { listQuery, pageRequest, refusedParameters, refuseParameters } from "../http/list-query.js";
import { pageAnswer } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { idParams, pageSchema } from "../http/schemas.js";
import { fileTypes, formats } from "../import-export/devices/formats.js";
import { devicesExport, devicesImport } from "../import-export/devices/kinds.js";
import { historyImport } from "../import-export/points/kinds.js";
import { createDownloadLinks, linkLifeMs } from "../tasks/links.js";
import { listedTask, listedTaskSchema } from "../views/tasks.js";
import type { AppDeps } from "./deps.js";

const tag = "Tasks";

const status = z
  .object({
    state: z.enum(taskStates),
    current: z.number().int().min(0).max(100),
    msg: z.unknown().openapi({ description: "what the task says of itself: counts, or why it failed" }),
    excelPath: z
      .string()
      .nullable()
      .optional()
      .openapi({
        description: `exports and imports: where the result file is, relative to /api/v1, for ${linkLifeMs / 60_000} minutes; null without one, and for viewers, who may not begin such a task: exports hold tokens`,
      }),
  })
  .openapi("TaskStatus");

/** Tasks whose result is a file. */
const withFile: ReadonlySet<string> = new Set([devicesExport, devicesImport, historyImport]);

const listFields = { filters: taskFilters };
const unfiltered = refusedParameters(listFields, listedTaskSchema);

export function taskRoutes({ db, tasks, now, zone }: AppDeps): Route[] {
  const links = createDownloadLinks(randomBytes(32), now);
  const view = ({ id, kind, state, current, msg, file }: Task, { role }: ApiCaller) => ({
    state,
    current,
    msg,
    ...(withFile.has(kind)
      ? { excelPath: file === null || !mayCall(role, "write") ? null : links.link(id, file) }
      : {}),
  });

  const statusAt = (path: string) =>
    route({
      method: "get",
      path,
      access: "read",
      tag,
      summary: "How far a task is",
      shape: { params: idParams },
      answer: { status: 200, schema: status },
      handle: async ({ caller, params }) => ({
        status: 200,
        body: view(await getTask(db, caller.tenant, params.id), caller),
        headers: { "Cache-Control": "no-store" },
      }),
    });

  return [
    statusAt("/task_status/{id}"),
    statusAt("/api/v1/task_status/{id}"),
    route({
      method: "get",
      path: "/api/v1/tasks",
      access: "read",
      tag,
      summary: "Tasks of the last 24 hours, newest first",
      shape: { query: listQuery(listFields) },
      answer: { status: 200, schema: pageSchema(listedTaskSchema) },
      handle: async ({ caller, writing, query, request: { url } }) => {
        refuseParameters(url, unfiltered);
        const request = pageRequest(query, listFields, zone);
        return pageAnswer(await listTasks(db, caller.tenant, request), request, (task) =>
          listedTask(task, writing),
        );
      },
    }),
    route({
      method: "get",
      path: "/api/v1/download",
      access: "public",
      tag,
      summary: "The result file of a task; its token is all that is needed",
      shape: {
        query: z.object({
          filename: z.string().optional(),
          fileType: z.string().optional().openapi({ example: "export_excel" }),
          token: z.string().optional(),
        }),
      },
      answer: { status: 200, type: fileTypes, schema: z.string().openapi({ format: "binary" }) },
      errors: ["AUTH_FAILED", "DATA_NOT_FOUND"],
      handle: ({ query: { filename = "", token = "" } }) => {
        if (!links.allows(filename, token)) {
          throw new ApiError("AUTH_FAILED", "the link is wrong or has expired", {
            token: "wrong or expired",
          });
        }
        const format = Object.values(formats).find(({ extension }) => filename.endsWith(`.${extension}`));
        const type = format?.type ?? "application/octet-stream";
        return fileAnswer(join(tasks.dir, filename), filename, type);
      },
    }),
  ];
}
