import { z } from "@hono/zod-openapi";
import { groupInbox } from "../../ingest/messages/topics.js";
import {
  createSchedule,
  deviceScheduleIDs,
  groupScheduleIDs,
  listSchedules,
  publishTypes,
  removeSchedules,
  type Schedule,
  scheduleFilters,
} from "../../store/metadata/commands/schedules.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { groupIDs } from "../../store/metadata/groups/groups.js";
import { cronLengthMax } from "../commands/cron.js";
import { resolveTiming } from "../commands/timing.js";
import { codeField, integerField, name } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { intOrNull, intSchema, stampGiven, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { scheduleListed } from "../views/schedules.js";
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
import { resourceRoutes } from "./resource.js";

const tag = "Schedules";
const intervalMinutesMax = 525_600;

const timingFields = {
  scheduleName: name,
  scheduleType: codeField(0, 1).openapi({ description: "0: once, at crontabTime; 1: again and again" }),
  crontabTime: stampGiven.nullish(),
  IntervalMinute: integerField(1, intervalMinutesMax).nullish(),
  crontab: z
    .string()
    .max(cronLengthMax)
    .openapi({ description: "cron expression, in the deployment's zone", example: "30 6 * * mon-fri" })
    .nullish(),
};
const deviceBody = z
  .object({ ...commandDeviceFields, ...commandFields, ...timingFields })
  .openapi("DeviceSchedulePublish");
const groupBody = z
  .object({ ...groupFields, ...commandFields, ...timingFields, needAck })
  .openapi("GroupSchedulePublish");

const listed = z
  .object({
    id: intSchema,
    scheduleName: z.string(),
    scheduleType: intSchema,
    scheduleTypeLabel: z.string(),
    IntervalMinute: intOrNull,
    IntervalHour: z.null(),
    IntervalWeek: z.null(),
    crontabTime: stampOrNull,
    crontab: textOrNull,
    nextAt: stampOrNull.openapi({ description: "when it runs next; null: never again" }),
    payload: z.string(),
    topic: z.string(),
    publishType: intSchema,
    deviceIntID: intOrNull,
    deviceName: textOrNull,
    groupIntID: intOrNull,
    groupName: textOrNull,
    username: textOrNull,
    createUser: textOrNull,
    userIntID: intOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("Schedule");

export function scheduleRoutes(deps: AppDeps): Route[] {
  return [...createRoutes(deps), ...listRoutes(deps), ...removeRoutes(deps)];
}

function createRoutes({ db, zone, now, config, commands }: AppDeps): Route[] {
  const answer = { status: 201 } as const;
  return [
    route({
      method: "post",
      path: "/api/v1/device_schedule_publish",
      access: "command",
      tag,
      summary: "Send a message to one device at a time, or again and again",
      shape: { body: deviceBody },
      answer,
      errors: ["DATA_NOT_FOUND", "REFERENCED_ERROR"],
      handle: async ({ caller, body }) => {
        const at = now();
        const timing = resolveTiming(body, zone, at);
        const { id: deviceIntID } = await deviceTarget(commands.target, caller, body);
        const command = parseCommand(body, config.topics);
        const to = { publishType: publishTypes.device, deviceIntID, groupIntID: null, needAck: 1 };
        const payload = Buffer.from(command.payload);
        const { scheduleName } = body;
        await createSchedule(db, caller, at, { ...command, ...to, ...timing, scheduleName, payload });
        return answer;
      },
    }),
    route({
      method: "post",
      path: "/api/v1/group_schedule_publish",
      access: "command",
      tag,
      summary: "Send a message to every device of a group at a time, or again and again",
      shape: { body: groupBody },
      answer,
      errors: ["DATA_NOT_FOUND", "REFERENCED_ERROR"],
      handle: async ({ caller, body }) => {
        const at = now();
        const timing = resolveTiming(body, zone, at);
        const { id: groupIntID, groupID } = await groupTarget(db, caller, body);
        const command = parseCommand(body, config.topics);
        const acknowledged = body.needAck ?? 1;
        const to = { publishType: publishTypes.group, deviceIntID: null, groupIntID, needAck: acknowledged };
        const topic = acknowledged === 0 ? groupInbox(groupID) : command.topic;
        const payload = Buffer.from(command.payload);
        const { scheduleName } = body;
        await createSchedule(db, caller, at, { ...command, ...to, ...timing, scheduleName, topic, payload });
        return answer;
      },
    }),
  ];
}

function listRoutes(deps: AppDeps): Route[] {
  const { db } = deps;
  const routes = resourceRoutes(deps);
  const shared = { tag, filters: scheduleFilters, schema: listed, view: scheduleListed };
  return [
    routes.list<Schedule>({
      ...shared,
      path: "/api/v1/schedule_publish",
      summary: "List schedules",
      list: ({ caller }, request) => listSchedules(db, caller.tenant, request, null),
    }),
    routes.list<Schedule>({
      ...shared,
      path: "/api/v1/devices/{id}/schedule_publish",
      summary: "List schedules of a device",
      parent: anyDeviceIDs,
      list: ({ caller }, request, deviceIntID) => listSchedules(db, caller.tenant, request, { deviceIntID }),
    }),
    routes.list<Schedule>({
      ...shared,
      path: "/api/v1/groups/{id}/schedule_publish",
      summary: "List schedules of a group",
      parent: groupIDs,
      list: ({ caller }, request, groupIntID) => listSchedules(db, caller.tenant, request, { groupIntID }),
    }),
  ];
}

function removeRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  const shared = { tag, access: "command", errors: [] } as const;
  return [
    routes.remove({
      ...shared,
      path: "/api/v1/device_schedule_publish",
      summary: "Delete schedules of devices",
      ids: deviceScheduleIDs,
      remove: ({ caller }, ids) => removeSchedules(db, caller, now(), ids),
    }),
    routes.remove({
      ...shared,
      path: "/api/v1/group_schedule_publish",
      summary: "Delete schedules of groups",
      ids: groupScheduleIDs,
      remove: ({ caller }, ids) => removeSchedules(db, caller, now(), ids),
    }),
  ];
}
