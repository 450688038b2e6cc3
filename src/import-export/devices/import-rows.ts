import { toAudit, toColumns } from "../../../store/metadata/devices/columns.js";
import type { DeviceStore, NewDevice } from "../../../store/metadata/devices/devices.js";
import type { StagedDevice } from "../../../store/metadata/devices/import.js";
import { findGatewayID } from "../../../store/metadata/devices/lookup.js";
import { findProduct, type ProductRef } from "../../../store/metadata/products/products.js";
import { createBodyA, draftOfNew, otherProtocol, toNewDevice } from "../../devices/create.js";
import { checkDevice } from "../../devices/rules.js";
import { ApiError } from "../../http/errors.js";
import { parseWith } from "../../http/fields.js";
import { type ColumnName, type FileHeader, parseDeviceRow } from "./device-columns.js";
import type { FieldErrors } from "./read-cell.js";
import type { RowErrors } from "./row-errors.js";
import type { FileRow } from "./table-file.js";

/** Turns rows of a file into devices to be staged, by the rules of POST /devices. */
export interface RowChecker {
  /** Notes faults; a wrong row is staged with only its deviceID, so that its children find it. */
  check(row: FileRow): Promise<StagedDevice>;
}

/** Stands for a link that is resolved later, or that could not be resolved and is already reported. */
const anyRecordID = 1;

export function createRowChecker(
  store: DeviceStore,
  tenant: number,
  header: FileHeader,
  errors: RowErrors,
): RowChecker {
  const products = remembered((productID) => findProduct(store.db, tenant, productID));
  const gateways = remembered((deviceID) => findGatewayID(store.db, tenant, deviceID));

  return {
    check: async ({ number, cells }) => {
      const wrong: FieldErrors = {};
      const body = parseDeviceRow(header, cells, wrong);
      const product = typeof body.productID === "string" ? await products(body.productID) : undefined;
      const parent = typeof body.parentDevice === "string" ? body.parentDevice : null;
      const gateway = typeof body.gateway === "string" ? await gateways(body.gateway) : undefined;
      if (parent !== null) body.parentDevice = anyRecordID;
      if (body.gateway !== undefined && gateway === undefined) wrong.gateway = "there is no such gateway";
      if (body.gateway !== undefined) body.gateway = gateway ?? anyRecordID;
      if (body.productID !== undefined && product === undefined) wrong.productID = "there is no such product";
      const device = toDevice(body, product, wrong);
      for (const field of inFileOrder(Object.keys(wrong), header.columns))
        errors.add(number, field, wrong[field] ?? "");
      if (device === null || product === undefined || Object.keys(wrong).length > 0) {
        const deviceID = typeof body.deviceID === "string" ? body.deviceID : null;
        return { row: number, columns: { deviceID }, parent: null, audit: null };
      }
      const { parentDevice, ...input } = device;
      return stageRow(store, tenant, number, input, parentDevice ? parent : null);
    },
  };
}

/** In the order of the columns; a member of a JSON cell counts as its column. */
function inFileOrder(fields: readonly string[], columns: FileHeader["columns"]): string[] {
  const findColumn = (field: string) => columns.indexOf((field.split(".")[0] ?? "") as ColumnName);
  return fields.toSorted((a, b) => findColumn(a) - findColumn(b));
}

/** Null if the body is not of the form that POST takes; broken rules are noted in `wrong`. */
function toDevice(
  body: Record<string, unknown>,
  product: ProductRef | undefined,
  wrong: FieldErrors,
): NewDevice | null {
  const parsed = parseBody(body, wrong);
  if (parsed === null) return null;
  const { productID, cloudProtocol, ...input } = parsed;
  if (product === undefined) return null;
  if (cloudProtocol !== product.cloudProtocol) {
    wrong.cloudProtocol = otherProtocol(product);
  }
  const draft = draftOfNew(input);
  for (const [field, text] of Object.entries(checkDevice(draft, product.cloudProtocol)))
    wrong[field] ??= text;
  return toNewDevice(input, draft, product);
}

function parseBody(body: Record<string, unknown>, wrong: FieldErrors) {
  try {
    return parseWith(createBodyA, body);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    for (const [field, text] of Object.entries(error.errors)) {
      wrong[field] ??= body[field] === undefined && !field.includes(".") ? "is required" : text;
    }
    return null;
  }
}

function stageRow(
  store: DeviceStore,
  tenant: number,
  row: number,
  input: Omit<NewDevice, "parentDevice">,
  parent: string | null,
): StagedDevice {
  const { deviceID, productIntID, ...rest } = input;
  return {
    row,
    parent,
    columns: { deviceID, productIntID, ...toColumns(store.vault, { tenant, deviceID }, rest) },
    audit: { deviceID, productIntID, ...toAudit(rest) },
  };
}

const rememberedMax = 10_000;

/** Caches the keys that are found, unless there are too many. */
function remembered<T>(find: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new Map<string, T>();
  return async (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const value = await find(key);
    // A key that is not found is not cached: it may have any length.
    if (value === undefined) return value;
    if (known.size >= rememberedMax) known.clear();
    known.set(key, value);
    return value;
  };
}
