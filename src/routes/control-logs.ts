import { z } from "@hono/zod-openapi";
import {
  type ControlLog,
  controlLogFilters,
  type GroupControlLog,
  groupControlLogFilters,
  listControlLogs,
  listGroupControlLogs,
} from "../../store/metadata/commands/control-logs.js";
import type { Page, PageRequest } from "../../store/metadata/db/table.js";
import { anyDeviceIDs, gatewayIDs } from "../../store/metadata/devices/devices.js";
import { groupIDs } from "../../store/metadata/groups/groups.js";
import { readLogScope, rowFilters } from "../http/log-scope.js";
import type { Route } from "../http/route.js";
import { intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { payloadContains } from "../journal-lists/payload-text.js";
import { controlLogListed, gatewayControlLogListed, groupControlLogListed } from "../views/control-logs.js";
import type { AppDeps } from "./deps.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

const tag = "Logs";
const range = "createAt";

const common = z.object({
  id: intSchema,
  topic: z.string(),
  payload: z.string(),
  publishStatus: intSchema,
  publishStatusLabel: z.string(),
  publishUser: textOrNull,
  userIntID: intOrNull,
  createAt: stampText,
  updateAt: stampOrNull,
});
const ofDevice = common.extend({ deviceIntID: intSchema, deviceName: textOrNull }).openapi("ControlLog");
const ofGroup = common.extend({ groupID: z.string(), groupName: z.string() }).openapi("GroupControlLog");
const ofGateway = common
  .omit({ publishUser: true })
  .extend({
    deviceIntID: intSchema,
    payload: z.union([z.record(z.string(), z.unknown()), z.string()]).openapi({
      description: "the object where the text is a JSON object: channel, func, kbid, message, object",
    }),
    createUser: textOrNull,
  })
  .openapi("GatewayControlLog");

const {
  publishUser: createUser,
  deviceID: _,
  deviceName: _gatewayName,
  ...sharedFilters
} = controlLogFilters;
const gatewayFilters = { ...sharedFilters, createUser };

export function controlLogRoutes(deps: AppDeps): Route[] {
  const { db } = deps;
  const routes = resourceRoutes(deps);

  async function list(
    { caller: { tenant } }: ResourceRequest,
    request: PageRequest,
    parent: number,
  ): Promise<Page<ControlLog>> {
    const { devices, truncated } = await readLogScope(db, tenant, request.filters, parent);
    const rest = { ...request, filters: rowFilters(request.filters) };
    const page = await listControlLogs(db, tenant, devices, rest, payloadContains);
    return truncated ? { ...page, truncated } : page;
  }

  return [
    routes.list<ControlLog>({
      path: "/api/v1/device_control_logs",
      tag,
      summary: "Downlink messages to every device",
      filters: controlLogFilters,
      range,
      schema: ofDevice,
      list,
      view: controlLogListed,
    }),
    routes.list<ControlLog>({
      path: "/api/v1/devices/{id}/control_logs",
      tag,
      summary: "Downlink messages to one device",
      filters: controlLogFilters,
      range,
      parent: anyDeviceIDs,
      schema: ofDevice,
      list,
      view: controlLogListed,
    }),
    routes.list<ControlLog>({
      path: "/api/v1/gateways/{id}/control_logs",
      tag,
      summary: "Downlink messages to one gateway",
      filters: gatewayFilters,
      range,
      parent: gatewayIDs,
      schema: ofGateway,
      list: (asking, request, parent) => {
        const filters = request.filters.map((filter) =>
          filter.field === "createUser" ? { ...filter, field: "publishUser" } : filter,
        );
        return list(asking, { ...request, filters }, parent);
      },
      view: gatewayControlLogListed,
    }),
    routes.list<GroupControlLog>({
      path: "/api/v1/groups/{id}/control_logs",
      tag,
      summary: "Downlink messages to one group",
      filters: groupControlLogFilters,
      range,
      parent: groupIDs,
      schema: ofGroup,
      list: (_asking, request, parent) => listGroupControlLogs(db, parent, request, payloadContains),
      view: groupControlLogListed,
    }),
  ];
}
