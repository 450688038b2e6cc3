import { z } from "@hono/zod-openapi";
import {
  createDevice,
  type Device,
  type DeviceInput,
  deviceFilters,
  deviceIDs,
  getDevice,
  isBelow,
  listDevices,
  removeDevices,
  updateDevice,
} from "../../store/devices.js";
import { longID } from "../../store/ids.js";
import { findProduct } from "../../store/products.js";
import { resolveIDs } from "../../store/table.js";
import type { AppDeps } from "../deps.js";
import type { Caller } from "../http/auth.js";
import { invalid } from "../http/errors.js";
import { code, createBody, editBody, fixedFields, name, present, refuseChanged } from "../http/fields.js";
import { idsQuery, idTexts, listQuery, only, pageAnswer, pageRequest } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import {
  floatOrNull,
  idParams,
  int,
  intOrNull,
  pageOf,
  stampOrNull,
  stampText,
  textOrNull,
} from "../http/schemas.js";
import { deviceDetail, deviceListed, deviceStored } from "../views/devices.js";
import { codesOf } from "../views/labels.js";
import { checkDevice, type DeviceDraft, deviceFields, deviceID, dropUncalledLinks } from "./device-rules.js";

const required = {
  deviceName: name,
  deviceType: code(...codesOf("deviceType")),
};
const createRequired = {
  ...required,
  productID: z.string().min(1),
  deviceID,
  cloudProtocol: code(...codesOf("cloudProtocol")),
};
/** Columns that take their default where a create says nothing. */
const defaults = { carrier: 1, physicalNetwork: 1, deviceConsolePort: 22 } as const;
const fixed = ["deviceID", "productID", "productIntID", "cloudProtocol"] as const;
const tag = "Devices";

const stored = z
  .object({
    id: int,
    deviceID: z.string(),
    deviceName: z.string(),
    deviceUsername: z.string(),
    token: textOrNull,
    authType: int,
    blocked: int,
    deviceStatus: int,
    deviceType: intOrNull,
    upLinkSystem: intOrNull,
    gateway: intOrNull,
    parentDevice: intOrNull,
    parentDeviceName: textOrNull,
    productID: z.string(),
    cloudProtocol: int,
    modBusIndex: intOrNull,
    carrier: intOrNull,
    physicalNetwork: intOrNull,
    IMEI: textOrNull,
    IMSI: textOrNull,
    autoSub: intOrNull,
    manufacturer: textOrNull,
    serialNumber: textOrNull,
    softVersion: textOrNull,
    hardwareVersion: textOrNull,
    description: textOrNull,
    deviceConsoleIP: textOrNull,
    deviceConsolePort: intOrNull,
    deviceConsoleUsername: textOrNull,
    latitude: floatOrNull,
    longitude: floatOrNull,
    location: z.unknown(),
    lora: z.unknown(),
    metaData: z.unknown(),
    scopes: z.array(z.unknown()),
    clientIP: textOrNull,
    connectedAt: stampOrNull,
    keepAlive: intOrNull,
    tenantID: z.string(),
    userIntID: intOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("DeviceStored");
const detail = stored
  .extend({
    productIntID: int,
    productName: z.string(),
    authTypeLabel: textOrNull,
    deviceStatusLabel: textOrNull,
    deviceTypeLabel: textOrNull,
    cloudProtocolLabel: textOrNull,
    gatewayName: textOrNull,
    createUser: textOrNull,
  })
  .openapi("DeviceDetail");
const listed = detail
  .omit({
    clientIP: true,
    connectedAt: true,
    createUser: true,
    gatewayName: true,
    keepAlive: true,
    parentDeviceName: true,
  })
  .openapi("Device");

export function deviceRoutes(deps: AppDeps): Route[] {
  const { db, devices, now, stamp } = deps;
  const find = async (tenant: number, id: string) => only(await resolveIDs(db, deviceIDs, tenant, [id]));
  const viewFor = (caller: Caller) => ({ stamp, secrets: caller.role !== "viewer" });

  return [
    route({
      method: "get",
      path: "/api/v1/devices",
      access: "read",
      tag,
      summary: "List devices; parentDevice= and gateway= list what hangs below",
      shape: { query: listQuery(deviceFilters) },
      answer: { status: 200, schema: pageOf(listed) },
      handle: async ({ caller, query }) => {
        const request = pageRequest(query, deviceFilters);
        const page = await listDevices(devices, caller.tenant, request);
        return pageAnswer(page, request, (device) => deviceListed(device, viewFor(caller)));
      },
    }),
    route({
      method: "get",
      path: "/api/v1/devices/{id}",
      access: "read",
      tag,
      summary: "One device",
      shape: { params: idParams },
      answer: { status: 200, schema: detail },
      handle: async ({ caller, params }) => {
        const device = await getDevice(devices, caller.tenant, await find(caller.tenant, params.id));
        return { status: 200, body: deviceDetail(device, viewFor(caller)) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/devices",
      access: "write",
      tag,
      summary: "Create a device",
      shape: { body: createBody(createRequired, deviceFields) },
      answer: { status: 201, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async ({ caller, body }) => {
        const { productID, cloudProtocol, modBuxIndex, ...input } = body;
        const product = await findProduct(db, caller.tenant, productID);
        if (product === undefined) throw invalid({ productID: "there is no such product" });
        if (cloudProtocol !== product.cloudProtocol) {
          throw invalid({ cloudProtocol: `must be the product's, ${product.cloudProtocol}` });
        }
        const fields = present({ ...input, modBusIndex: input.modBusIndex ?? modBuxIndex });
        const draft = draftOf(fields, input.deviceID, null);
        await checkDraft(deps, caller, draft, product.cloudProtocol, null);
        const device = await createDevice(devices, caller, now(), {
          ...defaults,
          ...withoutNulls(fields),
          ...dropUncalledLinks(draft),
          deviceID: input.deviceID,
          deviceName: input.deviceName,
          deviceUsername: input.deviceUsername ?? longID(),
          token: input.token ?? longID(),
          productIntID: product.id,
        });
        return { status: 201, body: deviceStored(device, { stamp, secrets: true }) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/devices/{id}",
      access: "write",
      tag,
      summary: "Edit a device",
      shape: { params: idParams, body: editBody(required, deviceFields).extend(fixedFields(fixed)) },
      answer: { status: 200, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async ({ caller, params, body }) => {
        const id = await find(caller.tenant, params.id);
        const device = await getDevice(devices, caller.tenant, id);
        refuseChanged(body, device, fixed);
        const fields = editedFields(body, device);
        const draft = draftOf(fields, device.deviceID, device);
        await checkDraft(deps, caller, draft, device.cloudProtocol, id);
        const input = { ...fields, ...dropUncalledLinks(draft) };
        const edited = await updateDevice(devices, caller, now(), id, input);
        return { status: 200, body: deviceStored(edited, { stamp, secrets: true }) };
      },
    }),
    route({
      method: "delete",
      path: "/api/v1/devices",
      access: "write",
      tag,
      summary: "Delete devices; their points go in the background",
      shape: { query: idsQuery },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND", "REFERENCED_ERROR"],
      handle: async ({ caller, query }) => {
        const ids = await resolveIDs(db, deviceIDs, caller.tenant, idTexts(query));
        await removeDevices(devices, caller, now(), ids);
        return { status: 204 };
      },
    }),
  ];
}

type Fields = { [K in keyof DeviceInput]?: DeviceInput[K] | null };

/** Columns that a null would leave without a value they must have. */
const neverNull = ["authType", "blocked", "scopes", "deviceUsername", "token"] as const;

/** Only what the body names; what may not be null is refused when it is. */
function editedFields(body: Record<string, unknown>, device: Device): DeviceInput {
  const { modBuxIndex, ...rest } = body;
  const modBusIndex = rest.modBusIndex === undefined ? modBuxIndex : rest.modBusIndex;
  const input = present({ ...rest, modBusIndex }) as Record<string, unknown>;
  for (const field of fixed) delete input[field];
  const errors: Record<string, string> = {};
  for (const field of neverNull) if (input[field] === null) errors[field] = "must not be null";
  if (Object.keys(errors).length > 0) throw invalid(errors);
  // A viewer's record shows the token as null, an operator's shows it: sending it back changes nothing.
  if (input.token === device.token) delete input.token;
  return input as DeviceInput;
}

function withoutNulls(fields: Fields): DeviceInput {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as DeviceInput;
}

/** The record as it would be: what was sent over what is there. */
function draftOf(fields: Fields, id: string, device: Device | null): DeviceDraft {
  const pick = <K extends keyof DeviceInput & keyof Device>(field: K): Device[K] | null =>
    (fields[field] === undefined ? (device?.[field] ?? null) : fields[field]) as Device[K] | null;
  return {
    deviceID: id,
    deviceType: pick("deviceType"),
    upLinkSystem: pick("upLinkSystem"),
    gateway: pick("gateway"),
    parentDevice: pick("parentDevice"),
    modBusIndex: pick("modBusIndex"),
    IMEI: pick("IMEI"),
    autoSub: pick("autoSub"),
    authType: pick("authType"),
    lora: pick("lora"),
  };
}

/** The rules of one record, and that its links lead to records of the tenant. */
async function checkDraft(
  { devices, db }: AppDeps,
  caller: Caller,
  draft: DeviceDraft,
  cloudProtocol: number,
  self: number | null,
): Promise<void> {
  const errors = checkDevice(draft, cloudProtocol);
  const links = dropUncalledLinks(draft);
  const kindOf = async (id: number) =>
    (
      await db.first<{ kind: string }>("select kind from device where tenant = ? and id = ?", [
        caller.tenant,
        id,
      ])
    )?.kind;
  if (links.gateway && (await kindOf(links.gateway)) !== "gateway")
    errors.gateway = "there is no such gateway";
  if (links.parentDevice) {
    if ((await kindOf(links.parentDevice)) !== "device") errors.parentDevice = "there is no such device";
    else if (self !== null && (await isBelow(devices, self, links.parentDevice))) {
      errors.parentDevice = "must not be the device itself or one below it";
    }
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
