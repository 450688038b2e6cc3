import { z } from "@hono/zod-openapi";
import { longID } from "../../store/metadata/db/ids.js";
import type { NewDevice } from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import type { ProductRef } from "../../store/metadata/products/products.js";
import type { ApiCaller } from "../http/caller.js";
import { invalid } from "../http/errors.js";
import { codeField, createBody, name, present, textField } from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { createOnceFree } from "./create-once-free.js";
import type { DeviceDeps } from "./draft.js";
import {
  checkDraft,
  createDraft,
  namedAsDevice,
  ownProduct,
  spelled,
  storeChecked,
  withoutNulls,
} from "./draft.js";
import {
  bodySpellings,
  type DeviceDraft,
  deviceFields,
  deviceID,
  deviceProtocols,
  dropUncalledLinks,
} from "./rules.js";
import { type DeviceTypeB, storedTypes, typesB } from "./variant-b.js";

/** Creating a device: the whole record of Variant A, the few fields of Variant B. */

/** Columns that take these defaults when a create leaves them out. */
const defaults = { carrier: 1, physicalNetwork: 1, deviceConsolePort: 22 } as const;
const gatewayDefaults = { deviceConsolePort: 22 } as const;

export const createBodyA = createBody(
  {
    deviceName: name,
    deviceType: codeField(...listCodes("deviceType")),
    productID: z.string().min(1),
    deviceID,
    cloudProtocol: codeField(...listCodes("cloudProtocol")),
  },
  deviceFields,
).openapi("DeviceCreate");

type BodyA = Omit<z.output<typeof createBodyA>, "productID" | "cloudProtocol">;

/** The record that a body of Variant A makes: links that its upLinkSystem does not call for are dropped. */
export function toNewDevice(body: BodyA, draft: DeviceDraft, product: Pick<ProductRef, "id">): NewDevice {
  return {
    ...defaults,
    ...withoutNulls(spelled(body, bodySpellings)),
    ...dropUncalledLinks(draft),
    deviceID: body.deviceID,
    deviceName: body.deviceName,
    deviceUsername: body.deviceUsername ?? longID(),
    token: body.token ?? longID(),
    productIntID: product.id,
  };
}

/** The draft of that record, for the rules. */
export function draftOfNew(body: BodyA): DeviceDraft {
  return createDraft(spelled(body, bodySpellings), body.deviceID, null);
}

/** The fault of a cloudProtocol that is not the product's. */
export function otherProtocol({ cloudProtocol }: Pick<ProductRef, "cloudProtocol">): string {
  return `must be the product's, ${cloudProtocol}`;
}

/** @throws ApiError PARAMETER_INVALID, StoreError CONFLICT */
export async function createFromA(
  deps: DeviceDeps,
  caller: ApiCaller,
  body: z.output<typeof createBodyA>,
): Promise<Device> {
  const { productID, cloudProtocol, ...input } = body;
  const product = await ownProduct(deps, caller, productID);
  if (cloudProtocol !== product.cloudProtocol) {
    throw invalid({ cloudProtocol: otherProtocol(product) });
  }
  const draft = draftOfNew(input);
  return storeChecked(
    async () => {
      await ownProduct(deps, caller, productID);
      await checkDraft(deps, caller, draft, cloudProtocol, null);
    },
    () => createOnceFree(deps, caller, toNewDevice(input, draft, product)),
  );
}

/** The texts of a device that Variant B takes. */
export const textsB = {
  manufacturer: deviceFields.manufacturer,
  serialNumber: deviceFields.serialNumber,
  softVersion: deviceFields.softVersion,
  hardwareVersion: deviceFields.hardwareVersion,
  description: deviceFields.description,
  location: textField,
} as const;
export const deviceTypeCodeB = codeField(...Object.values(typesB)).transform((value) => value as DeviceTypeB);

export const createBodyB = createBody(
  {
    deviceName: name,
    productID: z.string().min(1),
    deviceType: deviceTypeCodeB,
    authType: codeField(...listCodes("authType")),
  },
  { ...textsB, deviceID, deviceUsername: deviceFields.deviceUsername },
).openapi("DeviceCreateB");

/** Protocols whose devices need more than Variant B's body can carry. */
const beyondB: ReadonlySet<number> = new Set([
  deviceProtocols.lwm2m,
  deviceProtocols.lora,
  deviceProtocols.modbus,
]);

/** @throws ApiError PARAMETER_INVALID, StoreError CONFLICT */
export async function createFromB(
  deps: DeviceDeps,
  caller: ApiCaller,
  body: z.output<typeof createBodyB>,
): Promise<Device> {
  const { productID, deviceType, deviceName, deviceID: id, deviceUsername, ...fields } = body;
  const check = async () => {
    const product = await ownProduct(deps, caller, productID);
    if (!beyondB.has(product.cloudProtocol)) return product;
    throw invalid({ productID: "devices of its cloudProtocol need fields that this variant does not have" });
  };
  const product = await check();
  const isGateway = deviceType === typesB.gateway;
  const store = () =>
    createOnceFree(deps, caller, {
      ...(isGateway ? { ...gatewayDefaults, gatewayProtocol: product.cloudProtocol } : defaults),
      ...withoutNulls(present(fields)),
      ...storedTypes[deviceType],
      deviceName,
      deviceID: id ?? longID(),
      deviceUsername: deviceUsername ?? longID(),
      token: longID(),
      productIntID: product.id,
    });
  return storeChecked(check, () => namedAsDevice(store));
}
