import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import { ownID } from "../../store/metadata/db/table.js";
import { deviceFilters } from "../../store/metadata/devices/devices.js";
import { guardClaim } from "../http/disk-space.js";
import { fileAnswer } from "../http/file-answer.js";
import { listQuery, pageRequest, refusedParameters, refuseParameters } from "../http/list-query.js";
import { type Route, type RouteAnswer, route } from "../http/route.js";
import { receiveFile } from "../http/upload.js";
import { checkFile } from "../import-export/devices/check-file.js";
import { columnNames } from "../import-export/devices/device-columns.js";
import { fileTypes, formatNames, formats } from "../import-export/devices/formats.js";
import {
  devicesExport,
  devicesImport,
  type ExportInput,
  type ImportInput,
} from "../import-export/devices/kinds.js";
import type { Cell } from "../import-export/devices/table-file.js";
import { statusUrl } from "../tasks/runner.js";
import type { AppDeps } from "./deps.js";
import { deviceListedSchema, deviceListedSchemaB } from "./device-schemas.js";
import { typeAsCode } from "./devices.js";

const tag = "Devices";
const importBytesMax = 64 * 1024 * 1024;

const accepted = z
  .object({ statusUrl: z.string().openapi({ example: "/task_status/0123456789abcdef0123456789abcdef" }) })
  .openapi("TaskAccepted");
const format = z.enum(formatNames).default("xlsx");
const formatQuery = z.object({ format });
const aliases = { deviceType_like: "deviceType" } as const;
const form = z.object({
  file: z.string().openapi({ format: "binary", description: "xlsx or csv, with the columns of the export" }),
});

const fields = { filters: { ...ownID, ...deviceFilters }, aliases };
const refused = refusedParameters(fields, z.union([deviceListedSchema, deviceListedSchemaB]), ["token"]);

export function devicesTransferRoutes({ devices, tasks, zone }: AppDeps): Route[] {
  const taskStarted = (id: string): RouteAnswer => ({ status: 202, body: { statusUrl: statusUrl(id) } });

  return [
    route({
      method: "get",
      path: "/api/v1/devices_export",
      // The file holds the tokens, which a viewer may not see.
      access: "write",
      tag,
      summary: "Write devices to a file, as a task; the filters of the list apply",
      shape: { query: listQuery(fields).extend({ format }) },
      answer: { status: 202, schema: accepted },
      errors: ["RESOURCE_LIMITED"],
      handle: async ({ caller, variant, query, request }) => {
        refuseParameters(request.url, refused);
        const wanted = typeAsCode(pageRequest(query, fields, zone));
        await devices.settlePresence?.();
        const input: ExportInput = {
          filters: wanted.filters,
          codesB: variant === "B",
          format: format.parse(query.format),
        };
        return taskStarted(await tasks.start(caller, devicesExport, input));
      },
    }),
    route({
      method: "get",
      path: "/api/v1/devices_template",
      access: "read",
      tag,
      summary: "An empty file with the columns of an import",
      shape: { query: formatQuery },
      answer: { status: 200, type: fileTypes, schema: z.string().openapi({ format: "binary" }) },
      handle: ({ query }) => template(tasks.dir, query.format),
    }),
    route({
      method: "post",
      path: "/api/v1/devices_import",
      access: "write",
      tag,
      summary: "Create the devices of a file, all or none, as a task",
      upload: { type: "multipart/form-data", schema: form },
      answer: { status: 202, schema: accepted },
      errors: ["FORMAT_INVALID", "RESOURCE_LIMITED", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, upload: body }) => {
        const upload = `upload-${randomUUID()}`;
        const path = join(tasks.dir, upload);
        try {
          const through = [guardClaim(tasks.space.claim(caller.tenant, upload))];
          await receiveFile(body, { field: "file", bytesMax: importBytesMax, path, through });
          const input: ImportInput = { upload, format: await checkFile(path) };
          return taskStarted(await tasks.start(caller, devicesImport, input));
        } catch (error) {
          await tasks.space.remove(upload);
          throw error;
        }
      },
    }),
  ];
}

async function template(dir: string, name: keyof typeof formats): Promise<RouteAnswer> {
  const { type, extension, write } = formats[name];
  const path = join(dir, `template-${randomUUID()}`);
  try {
    await write(path, columnNames, noRows());
    // An open file is read to its end even after its name is removed.
    return await fileAnswer(path, `devices_template.${extension}`, type);
  } finally {
    await rm(path, { force: true });
  }
}

async function* noRows(): AsyncGenerator<Cell[]> {}
