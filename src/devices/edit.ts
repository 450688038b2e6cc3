import type { z } from "@hono/zod-openapi";
import type { DeviceInput } from "../../store/metadata/devices/columns.js";
import { getDevice, updateDevice } from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import type { ApiCaller } from "../http/caller.js";
import { invalid } from "../http/errors.js";
import { codeField, editBody, fixedFields, name, present, refuseChanged } from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { deviceTypeCodeB, textsB } from "./create.js";
import type { DeviceDeps } from "./draft.js";
import { checkDraft, createDraft, editedFields, namedAsDevice, spelled, storeChecked } from "./draft.js";
import { bodySpellings, deviceFields, dropUncalledLinks } from "./rules.js";
import { type DeviceTypeB, deviceTypeB, locationB, storedTypes, typesB } from "./variant-b.js";

/** Editing a device: each variant edits its own fields of the same record. */

const fixed = ["deviceID", "productID", "productIntID", "cloudProtocol"] as const;

export const editBodyA = editBody(
  { deviceName: name, deviceType: codeField(...listCodes("deviceType")) },
  deviceFields,
)
  .extend(fixedFields(fixed))
  .openapi("DeviceEdit");

/** @throws ApiError PARAMETER_INVALID, StoreError NOT_FOUND, CONFLICT */
export async function editFromA(
  deps: DeviceDeps,
  caller: ApiCaller,
  id: number,
  body: z.output<typeof editBodyA>,
): Promise<Device> {
  const device = await getDevice(deps.devices, caller.tenant, id);
  refuseChanged(body, device, fixed);
  const fields = editedFields(spelled(body, bodySpellings), device, fixed);
  return storeEdit(deps, caller, device, fields);
}

/** The rules hold for the record as it will be. */
function storeEdit(
  deps: DeviceDeps,
  caller: ApiCaller,
  device: Device,
  fields: DeviceInput,
): Promise<Device> {
  const draft = createDraft(fields, device.deviceID, device);
  return storeChecked(
    () => checkDraft(deps, caller, draft, device.cloudProtocol, device.id),
    () =>
      updateDevice(deps.devices, caller, deps.now(), device.id, { ...fields, ...dropUncalledLinks(draft) }),
  );
}

export const editBodyB = editBody(
  {
    deviceName: name,
    deviceType: deviceTypeCodeB,
    authType: codeField(...listCodes("authType")),
    blocked: codeField(0, 1),
  },
  textsB,
)
  .extend(fixedFields(fixed))
  .openapi("DeviceEditB");

/** @throws ApiError PARAMETER_INVALID, StoreError NOT_FOUND, CONFLICT */
export async function editFromB(
  deps: DeviceDeps,
  caller: ApiCaller,
  id: number,
  body: z.output<typeof editBodyB>,
): Promise<Device> {
  const device = await getDevice(deps.devices, caller.tenant, id);
  refuseChanged(body, device, fixed);
  const { deviceType, location, ...rest } = body;
  const fields: DeviceInput = {
    ...editedFields(present(rest), device, fixed),
    ...typeChange(device, deviceType),
    // Sending back, as read, the text of a location that Variant A set as JSON changes nothing.
    ...(location === undefined || location === locationB(device) ? {} : { location }),
  };
  if (device.kind === "device" && fields.deviceType !== undefined) {
    return storeEdit(deps, caller, device, fields);
  }
  return namedAsDevice(() => updateDevice(deps.devices, caller, deps.now(), id, fields));
}

/** A terminal may become a smartphone and back; a gateway stays one. @throws ApiError PARAMETER_INVALID */
function typeChange(device: Device, wanted: DeviceTypeB | undefined): DeviceInput {
  const present = deviceTypeB(device);
  if (wanted === undefined || wanted === present) return {};
  if (wanted === typesB.gateway || present === typesB.gateway) {
    throw invalid({ deviceType: "a device cannot become a gateway, nor a gateway a device" });
  }
  const { deviceType, upLinkSystem } = storedTypes[wanted];
  return { deviceType, upLinkSystem };
}
