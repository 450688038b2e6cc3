import { z } from "@hono/zod-openapi";
import { longID } from "../../store/metadata/db/ids.js";
import type { DeviceInput } from "../../store/metadata/devices/columns.js";
import {
  type Gateway,
  gatewayFilters,
  gatewayIDs,
  getDevice,
  listGateways,
  removeDevices,
  updateDevice,
} from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { createOnceFree } from "../devices/create-once-free.js";
import { editedFields, ownProduct, spelled, storeChecked, withoutNulls } from "../devices/draft.js";
import { deviceFields, deviceID } from "../devices/rules.js";
import type { ApiCaller } from "../http/caller.js";
import { invalid } from "../http/errors.js";
import {
  codeField,
  createBody,
  editBody,
  fixedFields,
  jsonField,
  name,
  refuseChanged,
  textField,
} from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { type Route, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { viewContext } from "../views/context.js";
import { gatewayDetail, gatewayListed, gatewayStored } from "../views/gateways.js";
import type { AppDeps } from "./deps.js";
import { gatewayDetailSchema, gatewayListedSchema, gatewayStoredSchema } from "./device-schemas.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

/** Gateways: rows of the device table with a record of their own, alike in both variants. */

const tag = "Gateways";
const path = "/api/v1/gateways";
const fixed = ["deviceID", "productID", "productIntID"] as const;
const defaults = { deviceConsolePort: 22 } as const;

/** Other spellings of fields in bodies → the proper one. */
const spellings = {
  gatewayMAC: "mac",
  consoleIP: "deviceConsoleIP",
  consolePort: "deviceConsolePort",
  consoleUsername: "deviceConsoleUsername",
} as const;

const { deviceConsoleIP, deviceConsolePort, deviceConsoleUsername } = deviceFields;
const mac = textField.max(64);
const upLinkNetwork = codeField(...listCodes("upLinkNetwork"));
const required = { gatewayName: name, gatewayProtocol: codeField(...listCodes("gatewayProtocol")) };
const optional = {
  upLinkProtocol: codeField(...listCodes("upLinkProtocol")),
  mac,
  gatewayMAC: mac,
  deviceConsoleIP,
  consoleIP: deviceConsoleIP,
  deviceConsolePort,
  consolePort: deviceConsolePort,
  deviceConsoleUsername,
  consoleUsername: deviceConsoleUsername,
  authType: deviceFields.authType,
  blocked: deviceFields.blocked,
  manufacturer: deviceFields.manufacturer,
  serialNumber: deviceFields.serialNumber,
  softVersion: deviceFields.softVersion,
  hardwareVersion: deviceFields.hardwareVersion,
  description: deviceFields.description,
  location: jsonField,
  deviceUsername: deviceFields.deviceUsername,
  token: deviceFields.token,
} as const;

const create = createBody(
  { ...required, upLinkNetwork, productID: z.string().min(1) },
  { ...optional, deviceID },
).openapi("GatewayCreate");
const edit = editBody(required, { ...optional, upLinkNetwork })
  .extend(fixedFields(fixed))
  .openapi("GatewayEdit");

export function gatewayRoutes(deps: AppDeps): Route[] {
  const { devices, now } = deps;
  const routes = resourceRoutes(deps);
  const answer = (status: 200 | 201, asking: ResourceRequest, gateway: Device) => ({
    status,
    body: gatewayStored(gateway, viewContext(asking)),
  });

  return [
    routes.list<Gateway>({
      path,
      tag,
      summary: "List gateways",
      filters: gatewayFilters,
      secret: ["token"],
      schema: gatewayListedSchema,
      list: ({ caller }, request) => listGateways(devices, caller.tenant, request),
      view: gatewayListed,
    }),
    routes.detail<Device>({
      path: `${path}/{id}`,
      tag,
      summary: "One gateway",
      ids: gatewayIDs,
      schema: gatewayDetailSchema,
      get: ({ caller }, id) => getDevice(devices, caller.tenant, id),
      view: gatewayDetail,
    }),
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Create a gateway",
      shape: { body: create },
      answer: { status: 201, schema: gatewayStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: async (input) => answer(201, input, await createGateway(deps, input.caller, input.body)),
    }),
    route({
      method: "put",
      path: `${path}/{id}`,
      access: "write",
      tag,
      summary: "Edit a gateway",
      shape: { params: idParams, body: edit },
      answer: { status: 200, schema: gatewayStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: async (input) => {
        const { caller, params, body } = input;
        const id = await routes.find(input, gatewayIDs, params.id);
        const gateway = await getDevice(devices, caller.tenant, id);
        const fields = gatewayEdit(gateway, body);
        return answer(200, input, await updateDevice(devices, caller, now(), id, fields));
      },
    }),
    routes.remove({
      path,
      tag,
      summary: "Delete gateways that no device hangs on",
      ids: gatewayIDs,
      remove: ({ caller }, ids) => removeDevices(devices, caller, now(), ids),
    }),
  ];
}

/** @throws ApiError PARAMETER_INVALID, StoreError CONFLICT */
async function createGateway(
  deps: AppDeps,
  caller: ApiCaller,
  body: z.output<typeof create>,
): Promise<Device> {
  const { productID, gatewayName, ...input } = body;
  const check = () => ownProduct(deps, caller, productID);
  const product = await check();
  return storeChecked(check, () =>
    createOnceFree(deps, caller, {
      ...defaults,
      ...withoutNulls(spelled(input, spellings)),
      kind: "gateway",
      deviceName: gatewayName,
      deviceID: input.deviceID ?? longID(),
      deviceUsername: input.deviceUsername ?? longID(),
      token: input.token ?? longID(),
      productIntID: product.id,
    }),
  );
}

/** The columns that an edit writes. @throws ApiError PARAMETER_INVALID */
function gatewayEdit(gateway: Device, body: z.output<typeof edit>): DeviceInput {
  refuseChanged(body, gateway, fixed);
  // A gateway made by Variant B lacks it, and may be sent back as read.
  if (body.upLinkNetwork === null && gateway.upLinkNetwork !== null) {
    throw invalid({ upLinkNetwork: "must not be null" });
  }
  const { gatewayName, ...rest } = spelled(body, spellings);
  const named = gatewayName === undefined ? rest : { ...rest, deviceName: gatewayName };
  return editedFields(named, gateway, fixed);
}
