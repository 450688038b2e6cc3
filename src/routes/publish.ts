import { z } from "@hono/zod-openapi";
import { type GroupPublishInput, groupPublish } from "../commands/group-publish.js";
import { type Route, route } from "../http/route.js";
import { statusUrl } from "../tasks/runner.js";
import {
  commandDeviceFields,
  commandFields,
  deviceTarget,
  groupFields,
  groupTarget,
  needAck,
  parseCommand,
} from "./command-body.js";
import type { AppDeps } from "./deps.js";

const tag = "Commands";

const deviceBody = z.object({ ...commandDeviceFields, ...commandFields }).openapi("DevicePublish");
const groupBody = z.object({ ...groupFields, ...commandFields, needAck }).openapi("GroupPublish");

const published = z
  .object({ publishStatus: z.enum(["successful", "failed"]) })
  .openapi("DevicePublished", { description: "what becomes of it stands in the control log" });
const begun = z
  .object({ statusUrl: z.string().openapi({ example: "/task_status/0f1e2d3c4b5a69788796a5b4c3d2e1f0" }) })
  .openapi("TaskBegun");

export function publishRoutes({ db, commands, tasks, config, cluster }: AppDeps): Route[] {
  return [
    route({
      method: "post",
      path: "/api/v1/device_publish",
      access: "command",
      tag,
      summary: "Send a message to one device or gateway",
      shape: { body: deviceBody },
      answer: { status: 201, schema: published },
      errors: ["DATA_NOT_FOUND", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, body }) => {
        const target = await deviceTarget(commands.target, caller, body);
        await cluster?.atKeeper(target.id);
        const command = parseCommand(body, config.topics);
        const payload = Buffer.from(command.payload);
        const done = await commands.publish(caller, target, { ...command, payload });
        return { status: 201, body: { publishStatus: done ? "successful" : "failed" } };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/group_publish",
      access: "command",
      tag,
      summary: "Send a message to every device of a group",
      shape: { body: groupBody },
      answer: { status: 201, schema: begun },
      errors: ["DATA_NOT_FOUND", "RESOURCE_LIMITED"],
      handle: async ({ caller, body }) => {
        const { id, groupID, groupName } = await groupTarget(db, caller, body);
        const group = { groupIntID: id, groupID, groupName, needAck: body.needAck ?? 1 };
        const input: GroupPublishInput = { ...group, ...parseCommand(body, config.topics) };
        return {
          status: 201,
          body: { statusUrl: statusUrl(await tasks.start(caller, groupPublish, input)) },
        };
      },
    }),
  ];
}
