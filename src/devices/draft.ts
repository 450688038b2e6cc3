import { StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { DeviceInput } from "../../store/metadata/devices/columns.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import { isBelow } from "../../store/metadata/devices/devices.js";
import { kindOfDevice } from "../../store/metadata/devices/lookup.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { findProduct, type ProductRef } from "../../store/metadata/products/products.js";
import type { ApiCaller } from "../http/caller.js";
import { invalid } from "../http/errors.js";
import { present } from "../http/fields.js";
import { checkDevice, type DeviceDraft, dropUncalledLinks } from "./rules.js";

/** What creating and editing devices needs. */
export interface DeviceDeps {
  readonly db: Db;
  readonly devices: DeviceStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** From a body to the stored columns: spellings, nulls, the resulting record, and its links. */

type Fields = { readonly [K in keyof DeviceInput]?: DeviceInput[K] | null };

/** Moves fields under another spelling to their proper names, which win if both are present; drops absent fields. */
export function spelled(
  body: object,
  spellings: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const fields: Record<string, unknown> = { ...body };
  for (const [other, proper] of Object.entries(spellings)) {
    if (fields[proper] === undefined) fields[proper] = fields[other];
    delete fields[other];
  }
  return present(fields);
}

export function withoutNulls(fields: Fields): DeviceInput {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as DeviceInput;
}

/** Columns that must have a value, which a null would take away. */
const neverNull = ["authType", "blocked", "scopes", "deviceUsername", "token"] as const;

/**
 * The columns that an edit writes: without the fixed fields and without an unchanged token.
 * @throws ApiError naming wrong nulls
 */
export function editedFields(
  body: Readonly<Record<string, unknown>>,
  device: Device,
  fixed: readonly string[],
): DeviceInput {
  const input = { ...body };
  for (const field of fixed) delete input[field];
  const errors: Record<string, string> = {};
  for (const field of neverNull) if (input[field] === null) errors[field] = "must not be null";
  if (Object.keys(errors).length > 0) throw invalid(errors);
  // Sending the record back as read must not seal the same token again.
  if (input.token === device.token) delete input.token;
  return input as DeviceInput;
}

/** @throws ApiError PARAMETER_INVALID naming productID */
export async function ownProduct(
  { db }: Pick<DeviceDeps, "db">,
  caller: ApiCaller,
  productID: string,
): Promise<ProductRef> {
  const product = await findProduct(db, caller.tenant, productID);
  if (product === undefined) throw invalid({ productID: "there is no such product" });
  return product;
}

/** The record as it would be: the fields that were sent, over those of the stored record. */
export function createDraft(fields: Fields, id: string, device: Device | null): DeviceDraft {
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

/**
 * Checks the rules of one record, and that its links lead to records of the tenant; `self` is null for a new one.
 * @throws ApiError PARAMETER_INVALID naming every field that is wrong
 */
export async function checkDraft(
  { devices, db }: Pick<DeviceDeps, "devices" | "db">,
  caller: ApiCaller,
  draft: DeviceDraft,
  cloudProtocol: number,
  self: number | null,
): Promise<void> {
  const errors = checkDevice(draft, cloudProtocol);
  const links = dropUncalledLinks(draft);
  const findDeviceKind = (id: number) => kindOfDevice(db, caller.tenant, id);
  if (links.gateway && (await findDeviceKind(links.gateway)) !== "gateway")
    errors.gateway = "there is no such gateway";
  if (links.parentDevice) {
    if ((await findDeviceKind(links.parentDevice)) !== "device")
      errors.parentDevice = "there is no such device";
    else if (self !== null && (await isBelow(devices, self, links.parentDevice))) {
      errors.parentDevice = "must not be the device itself or one below it";
    }
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

/**
 * Checks, then stores. If the store then finds that a linked record is gone, a second check finds out which.
 * @throws ApiError PARAMETER_INVALID, StoreError CONFLICT
 */
export async function storeChecked<T>(check: () => Promise<unknown>, store: () => Promise<T>): Promise<T> {
  await check();
  try {
    return await store();
  } catch (error) {
    if (error instanceof StoreError && error.code === "REFERENCED") await check();
    throw error;
  }
}

/**
 * Gateways have a name field of their own in Variant A; where they are called devices, the taken name is deviceName.
 */
export async function namedAsDevice<T>(store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    if (!(error instanceof StoreError) || error.fields.gatewayName === undefined) throw error;
    const deviceName = error.fields.gatewayName;
    throw new StoreError(error.code, "cannot store the record: deviceName exists already", { deviceName });
  }
}
