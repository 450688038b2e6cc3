import { z } from "@hono/zod-openapi";
import { resolveIDs } from "../../store/metadata/db/table.js";
import { isUnfiltered } from "../../store/metadata/fleet/filters.js";
import {
  type BulkAct,
  bulkDevices,
  bulkDevicesMax,
  bulkPayloadBytesMax,
  isPayloadTooLarge,
} from "../bulk/bulk-input.js";
import { mayCall } from "../http/caller.js";
import { ApiError, invalid } from "../http/errors.js";
import { integerField } from "../http/fields.js";
import { idsMax } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { statusUrl } from "../tasks/runner.js";
import { commandFields, parseCommand } from "./command-body.js";
import type { AppDeps } from "./deps.js";
import { fleetFilterBody } from "./fleet-query.js";

const actions = ["command", "block", "unblock", "addToGroup", "removeFromGroup", "delete"] as const;

const body = z
  .strictObject({
    ids: z
      .array(integerField(1))
      .min(1)
      .max(idsMax)
      .optional()
      .openapi({ description: "record ids of devices and gateways" }),
    filter: fleetFilterBody.optional().openapi({
      description: `in place of ids: all that pass, when the task begins, at most ${bulkDevicesMax}`,
    }),
    action: z.enum(actions),
    ...commandFields,
    payload: commandFields.payload.optional().openapi({ description: "of a command" }),
    groupIntID: integerField(1).optional().openapi({ description: "of addToGroup and removeFromGroup" }),
  })
  .openapi("DevicesBulk");

type Body = z.output<typeof body>;

const begun = z.object({
  statusUrl: z.string().openapi({ example: "/task_status/0f1e2d3c4b5a69788796a5b4c3d2e1f0" }),
});

/** Each of the tables by record id alone. */
const byRecordID = (name: string) => ({ name, column: null });

export function bulkRoutes({ db, tasks, config }: AppDeps): Route[] {
  return [
    route({
      method: "post",
      path: "/api/v1/devices/bulk",
      access: "write",
      tag: "Devices",
      summary: "Do one thing to many devices: a command, block, unblock, group, delete; a task",
      shape: { body },
      answer: { status: 202, schema: begun },
      errors: ["DATA_NOT_FOUND", "RESOURCE_LIMITED"],
      handle: async ({ caller, body }) => {
        if (body.action === "command" && !mayCall(caller.role, "command")) {
          throw new ApiError("PERMISSION_DENIED", `role ${caller.role} may not do this`);
        }
        checkFields(body);
        const act = parseAct(body, config.topics);
        if ("groupIntID" in act) {
          await resolveIDs(db, byRecordID("device_group"), caller.tenant, [String(act.groupIntID)]);
        }
        const ids =
          body.ids && (await resolveIDs(db, byRecordID("device"), caller.tenant, body.ids.map(String)));
        if (ids !== undefined && isPayloadTooLarge(act, ids.length)) {
          const most = Math.floor(bulkPayloadBytesMax / ids.length);
          throw invalid({ payload: `must be at most ${most} bytes for ${ids.length} devices` });
        }
        const input = { ...act, ...(ids === undefined ? { filter: body.filter ?? {} } : { ids }) };
        return { status: 202, body: { statusUrl: statusUrl(await tasks.start(caller, bulkDevices, input)) } };
      },
    }),
  ];
}

const ofCommands = ["topic", "payload", "qos", "ttl"] as const;

/** @throws ApiError PARAMETER_INVALID naming fields that are missing, or are another action's */
function checkFields(body: Body): void {
  const { ids, filter, action, payload, groupIntID } = body;
  const errors: Record<string, string> = {};
  if ((ids === undefined) === (filter === undefined)) errors.ids = "either ids or filter must be there";
  if (filter !== undefined && isUnfiltered(filter)) errors.filter = "must have at least one filter";
  const isGroup = action === "addToGroup" || action === "removeFromGroup";
  if (isGroup && groupIntID === undefined) errors.groupIntID = "is required";
  if (!isGroup && groupIntID !== undefined) errors.groupIntID = `is no field of ${action}`;
  if (action === "command" && payload === undefined) errors.payload = "is required";
  if (action !== "command") {
    for (const field of ofCommands) if (body[field] != null) errors[field] = `is no field of ${action}`;
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

function parseAct(body: Body, bounds: Parameters<typeof parseCommand>[1]): BulkAct {
  const { action, payload = "", groupIntID = 0 } = body;
  if (action === "command") return { action, ...parseCommand({ ...body, payload }, bounds) };
  return action === "addToGroup" || action === "removeFromGroup" ? { action, groupIntID } : { action };
}
