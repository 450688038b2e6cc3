import { readInteger } from "../../store/lib/number-text.js";
import type { PageRequest } from "../../store/metadata/db/table.js";
import {
  anyDeviceIDs,
  deviceFilters,
  deviceIDs,
  getDevice,
  listDevices,
  listEveryDevice,
  removeDevices,
} from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { createBodyA, createBodyB, createFromA, createFromB } from "../devices/create.js";
import { editBodyA, editBodyB, editFromA, editFromB } from "../devices/edit.js";
import { invalid } from "../http/errors.js";
import { type Route, route, type Variant } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { viewContext } from "../views/context.js";
import { type DeviceContext, deviceDetail, deviceListed, deviceStored } from "../views/devices.js";
import type { AppDeps } from "./deps.js";
import {
  deviceDetailSchema,
  deviceDetailSchemaB,
  deviceListedSchema,
  deviceListedSchemaB,
  deviceStoredSchema,
  deviceStoredSchemaB,
} from "./device-schemas.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

const tag = "Devices";
const path = "/api/v1/devices";

/** Variant B has gateways among its devices. */
const deviceIDFields = (variant: Variant) => (variant === "B" ? anyDeviceIDs : deviceIDs);

export function deviceRoutes(deps: AppDeps): Route[] {
  const { devices, now, brokers } = deps;
  const routes = resourceRoutes(deps);
  const createContext = (asking: ResourceRequest): DeviceContext => ({ ...viewContext(asking), brokers });
  const answer = (status: 200 | 201, asking: ResourceRequest, device: Device) => ({
    status,
    body: deviceStored(device, createContext(asking)),
  });

  return [
    routes.list<Device>({
      path,
      tag,
      summary:
        "List devices; parentDevice= and gateway= list what hangs below, groupID= the members of a group",
      filters: deviceFilters,
      secret: ["token"],
      aliases: { deviceType_like: "deviceType" },
      schema: deviceListedSchema,
      schemaB: deviceListedSchemaB,
      list: ({ caller, variant }, request) =>
        (variant === "B" ? listEveryDevice : listDevices)(devices, caller.tenant, typeAsCode(request)),
      view: deviceListed,
    }),
    routes.detail<Device>({
      path: `${path}/{id}`,
      tag,
      summary: "One device",
      ids: deviceIDFields,
      schema: deviceDetailSchema,
      schemaB: deviceDetailSchemaB,
      get: ({ caller }, id) => getDevice(devices, caller.tenant, id),
      view: (device, context) => deviceDetail(device, { ...context, brokers }),
    }),
    route(
      {
        method: "post",
        path,
        access: "write",
        tag,
        summary: "Create a device",
        shape: { body: createBodyA },
        answer: { status: 201, schema: deviceStoredSchema },
        errors: ["DATA_EXISTED"],
        handle: async (input) => answer(201, input, await createFromA(deps, input.caller, input.body)),
      },
      {
        shape: { body: createBodyB },
        answer: { status: 201, schema: deviceStoredSchemaB },
        handle: async (input) => answer(201, input, await createFromB(deps, input.caller, input.body)),
      },
    ),
    route(
      {
        method: "put",
        path: `${path}/{id}`,
        access: "write",
        tag,
        summary: "Edit a device",
        shape: { params: idParams, body: editBodyA },
        answer: { status: 200, schema: deviceStoredSchema },
        errors: ["DATA_EXISTED"],
        handle: async (input) => {
          const id = await routes.find(input, deviceIDs, input.params.id);
          return answer(200, input, await editFromA(deps, input.caller, id, input.body));
        },
      },
      {
        shape: { params: idParams, body: editBodyB },
        answer: { status: 200, schema: deviceStoredSchemaB },
        handle: async (input) => {
          const id = await routes.find(input, anyDeviceIDs, input.params.id);
          return answer(200, input, await editFromB(deps, input.caller, id, input.body));
        },
      },
    ),
    routes.remove({
      path,
      tag,
      summary: "Delete devices; their connections end at once, their points go in the background",
      ids: deviceIDFields,
      remove: ({ caller }, ids) => removeDevices(devices, caller, now(), ids),
    }),
  ];
}

/** deviceType_like is a whole number in the interface, so it means equality. @throws ApiError PARAMETER_INVALID */
export function typeAsCode(request: PageRequest): PageRequest {
  const filters = request.filters.map((filter) => {
    if (filter.field !== "deviceType" || !filter.like) return filter;
    const value = readInteger(String(filter.value));
    if (value === null) throw invalid({ deviceType_like: "must be of type integer" });
    return { field: "deviceType", like: false, value };
  });
  return { ...request, filters };
}
