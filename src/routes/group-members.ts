import { z } from "@hono/zod-openapi";
import { resolveIDs } from "../../store/metadata/db/table.js";
import { boundFilters } from "../../store/metadata/devices/bound-devices.js";
import { deviceFilters, deviceIDs, listEveryDevice } from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { addMembers, notJoined } from "../../store/metadata/groups/group-members.js";
import { getGroup, groupIDs } from "../../store/metadata/groups/groups.js";
import { groupBinding, unbind } from "../../store/metadata/policies/bindings.js";
import { listQuery, pageLimitMax, pageRequest } from "../http/list-query.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema } from "../http/schemas.js";
import { deviceListed } from "../views/devices.js";
import { idArray } from "./bound-ids.js";
import type { AppDeps } from "./deps.js";
import { deviceListedSchemaB } from "./device-schemas.js";
import { resourceRoutes } from "./resource.js";

const tag = "Groups";
const path = "/api/v1/groups/{id}/devices";

const added = z.object({ ids: idArray }).openapi("GroupDevices");

const choice = z.object({ label: z.string(), value: intSchema }).openapi("GroupDeviceSelection");

export function groupMemberRoutes(deps: AppDeps): Route[] {
  const { db, devices, now } = deps;
  const routes = resourceRoutes(deps);

  return [
    routes.list<Device>({
      path,
      tag,
      summary: "Devices of a group, in the form of Variant B",
      parent: groupIDs,
      filters: deviceFilters,
      secret: ["token"],
      schema: deviceListedSchemaB,
      list: async ({ caller }, request, id) => {
        const { groupID } = await getGroup(db, caller.tenant, id);
        const filters = [...request.filters, { field: "groupID", like: false, value: groupID }];
        return listEveryDevice(devices, caller.tenant, { ...request, filters });
      },
      view: (device, context) => deviceListed(device, { ...context, variant: "B" }),
    }),
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Add devices of the group's product to a group",
      shape: { params: idParams, body: added },
      answer: { status: 201 },
      errors: ["DATA_NOT_FOUND"],
      handle: async (input) => {
        const { caller, body } = input;
        const group = await routes.find(input, groupIDs, input.params.id);
        const ids = await resolveIDs(db, deviceIDs, caller.tenant, body.ids);
        await addMembers(db, caller, now(), group, ids);
        return { status: 201 };
      },
    }),
    routes.remove({
      path,
      tag,
      summary: "Take devices out of a group",
      parent: groupIDs,
      ids: deviceIDs,
      errors: [],
      remove: ({ caller }, ids, group) =>
        unbind(db, caller, now(), groupBinding, { owners: [group], devices: ids }),
    }),
    route({
      method: "get",
      path: "/api/v1/platform_select/groups/{id}/not_joined_devices",
      access: "read",
      tag,
      summary: "Devices of the group's product that are not in it, to choose from; the newest first",
      shape: { params: idParams, query: listQuery({ filters: boundFilters }) },
      answer: { status: 200, schema: z.array(choice) },
      handle: async (input) => {
        const query = { ...input.query, _limit: input.query._limit || String(pageLimitMax) };
        const request = pageRequest(query, { filters: boundFilters }, deps.zone);
        const group = await routes.find(input, groupIDs, input.params.id);
        return { status: 200, body: await notJoined(db, input.caller.tenant, request, group) };
      },
    }),
  ];
}
