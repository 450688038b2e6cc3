import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import { readRequestTime } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { ApiError, invalid } from "../http/errors.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { spoolBody } from "../http/spool.js";
import { FormatError } from "../import-export/format-error.js";
import { type HistoryImportInput, historyImport } from "../import-export/points/kinds.js";
import {
  type HistoryFormat,
  historyTypes,
  longColumns,
  wideColumns,
} from "../import-export/points/limits.js";
import { checkHistory, guessFormat } from "../import-export/points/read-history.js";
import { historyRedecode, type RedecodeInput } from "../import-export/points/redecode.js";
import { statusUrl } from "../tasks/runner.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Data";

const accepted = z
  .object({ statusUrl: z.string().openapi({ example: "/task_status/0123456789abcdef0123456789abcdef" }) })
  .openapi("HistoryTaskAccepted");

const file = z.string().openapi({
  format: "binary",
  description:
    `CSV or NDJSON of ${longColumns.join(", ")}, or of ${wideColumns.join(", ")} and one column a data point; ` +
    "as the body (Content-Encoding: gzip is taken) or as the field `file` of a form",
});

const redecodeBody = z
  .object({
    startTime: z
      .string()
      .openapi({ description: "receipt of the oldest message; the forms of the data endpoints" }),
    endTime: z.string().nullish().openapi({ description: "not included; absent: now" }),
    timezone: z.string().nullish(),
    dryRun: z
      .boolean()
      .nullish()
      .openapi({
        description:
          "stores nothing: msg counts the points that would appear (points_num), those whose time holds another value, " +
          "which stays (changed_num), those that are there (unchanged_num), and what is refused, by reason",
      }),
  })
  .openapi("Redecode");

/** Brings history into the series store: files of points, and kept messages decoded again. */
export function historyRoutes(deps: AppDeps): Route[] {
  const { tasks, config, now } = deps;
  const routes = resourceRoutes(deps);
  const types = Object.values(historyTypes);

  return [
    route({
      method: "post",
      path: "/api/v1/original_data",
      access: "write",
      tag,
      summary: "Import points of a CSV or NDJSON file, as a task; repeating it changes nothing",
      upload: { type: [...types, "multipart/form-data"], schema: file },
      answer: { status: 202, schema: accepted },
      errors: ["BAD_REQUEST", "FORMAT_INVALID", "RESOURCE_LIMITED", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, request, upload: body }) => {
        const upload = `history-${randomUUID()}`;
        const path = join(tasks.dir, upload);
        try {
          const room = tasks.space.claim(caller.tenant, upload);
          await spoolBody(body, { types, bytesMax: config.importBytesMax, room, path });
          const input: HistoryImportInput = { upload, format: await detectFormat(path, request) };
          await checkHistory({ path, format: input.format });
          return {
            status: 202,
            body: { statusUrl: statusUrl(await tasks.start(caller, historyImport, input)) },
          };
        } catch (error) {
          await tasks.space.remove(upload);
          if (error instanceof FormatError) throw new ApiError("FORMAT_INVALID", error.message);
          throw error;
        }
      },
    }),
    route({
      method: "post",
      path: "/api/v1/devices/{id}/redecode",
      access: "write",
      tag,
      summary: "Decode the kept messages of a device again, for data points defined later, as a task",
      shape: { params: idParams, body: redecodeBody },
      answer: { status: 202, schema: accepted },
      errors: ["RESOURCE_LIMITED"],
      handle: async (asking) => {
        const { caller, params, body } = asking;
        const device = await routes.find(asking, anyDeviceIDs, params.id);
        await deps.cluster?.atKeeper(device);
        const place = chooseZone(deps, body.timezone);
        const start = readRequestTime(body.startTime, place, "startTime");
        const stop = body.endTime ? readRequestTime(body.endTime, place, "endTime") : now() * 1000;
        if (start >= stop) throw invalid({ startTime: "the range must end after it starts" });
        const input: RedecodeInput = { device, start, stop, dryRun: body.dryRun === true };
        return {
          status: 202,
          body: { statusUrl: statusUrl(await tasks.start(caller, historyRedecode, input)) },
        };
      },
    }),
  ];
}

function chooseZone(deps: AppDeps, name: string | null | undefined) {
  return name ? zone(name) : deps.zone;
}

/** The format that the caller declares; for a form, the one that the content looks like. */
async function detectFormat(path: string, request: Request): Promise<HistoryFormat> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type === historyTypes.csv) return "csv";
  if (type === historyTypes.ndjson) return "ndjson";
  return guessFormat(path);
}
