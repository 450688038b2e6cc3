import { mapInSlices } from "../../lib/scheduling.js";
import { type Actor, changed, deleteStatements, differing, updateStatements } from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { deleting } from "../db/referrers.js";
import type { Vault } from "../db/secrets.js";
import { fromJson, getRow, insertInto, type Listing, type Page, type PageRequest } from "../db/table.js";
import { type DeviceInput, loraPlace, toAudit, toColumns, tokenPlace } from "./columns.js";
import { devices as deviceListing, everyKind, gateways } from "./listing.js";
import type { Device } from "./record.js";

export interface Gateway extends Device {
  /** How many devices are below it. */
  readonly deviceCount: number;
}

export const deviceFilters = deviceListing.filters;
export const gatewayFilters = gateways.filters;
export const deviceIDs = { name: "device", column: "deviceID", scope: "kind = 'device'" } as const;
export const gatewayIDs = { name: "device", column: "deviceID", scope: "kind = 'gateway'" } as const;
/** Sub-resources and the data endpoints take gateways too. */
export const anyDeviceIDs = { name: "device", column: "deviceID" } as const;

export type DeviceRow = Omit<Device, "token" | "location" | "lora" | "metaData" | "scopes"> & {
  token: ArrayBuffer;
  location: string | null;
  lora: string | null;
  metaData: string | null;
  scopes: string;
};

export interface DeviceStore {
  readonly db: Db;
  readonly vault: Vault;
  /** Present if devices connect to this process: brings the rows up to date with who is connected now. */
  readonly settlePresence?: () => Promise<void>;
}

export function toDevice(store: DeviceStore, row: DeviceRow): Device {
  return {
    ...row,
    token: store.vault.open(new Uint8Array(row.token), tokenPlace(row)),
    location: fromJson(row.location),
    lora:
      row.lora === null ? null : fromJson(store.vault.open(Buffer.from(row.lora, "base64"), loraPlace(row))),
    metaData: fromJson(row.metaData),
    scopes: fromJson(row.scopes) ?? [],
  };
}

/** Devices, without gateways. */
export function listDevices(store: DeviceStore, tenant: number, request: PageRequest): Promise<Page<Device>> {
  return listKind<Device>(store, deviceListing, tenant, request, "r.kind = 'device'");
}

/** Devices and gateways together; the filter deviceType takes 0 terminal, 1 gateway, 2 smartphone. */
export function listEveryDevice(
  store: DeviceStore,
  tenant: number,
  request: PageRequest,
): Promise<Page<Device>> {
  return listKind<Device>(store, everyKind, tenant, request, "1");
}

export function listGateways(
  store: DeviceStore,
  tenant: number,
  request: PageRequest,
): Promise<Page<Gateway>> {
  return listKind<Gateway>(store, gateways, tenant, request, "r.kind = 'gateway'");
}

async function listKind<Kind extends Device>(
  store: DeviceStore,
  source: Listing,
  tenant: number,
  request: PageRequest,
  kind: string,
): Promise<Page<Kind>> {
  await store.settlePresence?.();
  const page = await listRows<DeviceRow>(store.db, source, tenant, toStoredRequest(request), { sql: kind });
  return { ...page, items: await mapInSlices(page.items, (row) => toDevice(store, row) as Kind) };
}

/** Places are stored as JSON, so filters look for them as JSON. */
export function toStoredRequest(request: PageRequest): PageRequest {
  const stored = (value: string | number, like: boolean) => {
    const json = JSON.stringify(String(value));
    return like ? json.slice(1, -1) : json;
  };
  return {
    ...request,
    filters: request.filters.map((filter) =>
      filter.field === "location" ? { ...filter, value: stored(filter.value, filter.like) } : filter,
    ),
  };
}

/** A device or a gateway. @throws StoreError NOT_FOUND */
export async function getDevice(store: DeviceStore, tenant: number, id: number): Promise<Device> {
  await store.settlePresence?.();
  return toDevice(store, await getRow<DeviceRow>(store.db, everyKind, tenant, id));
}

export interface NewDevice extends DeviceInput {
  readonly kind?: Device["kind"];
  readonly deviceID: string;
  readonly deviceName: string;
  readonly deviceUsername: string;
  readonly token: string;
  readonly productIntID: number;
}

/** The statements that store a new device, so that an import can put many into one transaction. */
export function createDeviceStatements(
  store: DeviceStore,
  actor: Actor,
  now: number,
  input: NewDevice,
): Statement[] {
  const { deviceID, productIntID, ...rest } = input;
  return [
    insertInto("device", {
      tenant: actor.tenant,
      deviceID,
      productIntID,
      ...toColumns(store.vault, { tenant: actor.tenant, deviceID }, rest),
      userIntID: actor.userIntID,
      createUser: actor.username,
      createAt: now,
    }),
    changed(actor, now, "create", "device", null, { deviceID, productIntID, ...toAudit(rest) }),
  ];
}

/** @throws StoreError CONFLICT naming the field that is taken */
export async function createDevice(
  store: DeviceStore,
  actor: Actor,
  now: number,
  input: NewDevice,
): Promise<Device> {
  const results = await store.db.write(createDeviceStatements(store, actor, now, input));
  return getDevice(store, actor.tenant, Number(results[0]?.lastInsertRowid));
}

/**
 * @throws StoreError CONFLICT naming the field that is taken, REFERENCED if a linked record does not exist or the
 * parent is below the device
 */
export async function updateDevice(
  store: DeviceStore,
  actor: Actor,
  now: number,
  id: number,
  input: DeviceInput,
): Promise<Device> {
  const device = await getDevice(store, actor.tenant, id);
  const edit = differing(device, input);
  await store.db.write([
    ...(edit.parentDevice ? [refuseCycle(id, edit.parentDevice)] : []),
    ...updateStatements("device", actor, now, id, toColumns(store.vault, device, edit), toAudit(edit)),
  ]);
  return getDevice(store, actor.tenant, id);
}

/**
 * Removes the rows and leaves a removal for each, which the background works off: it removes the device's points, and
 * then the deviceID is free. @throws StoreError REFERENCED if a device has children
 */
export async function removeDevices(
  store: DeviceStore,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  const statements: Statement[] = [
    {
      sql: `insert into removal (tenant, productID, deviceID, createAt)
        select r.tenant, p.productID, r.deviceID, ? from device r join product p on p.id = r.productIntID
        where r.tenant = ? and r.id in (select value from json_each(?))`,
      args: [now, actor.tenant, ids],
    },
    {
      sql: `insert into departed_device (id, tenant, deviceID, deviceName, productIntID, productName)
        select r.id, r.tenant, r.deviceID, r.deviceName, p.id, p.productName
        from device r join product p on p.id = r.productIntID
        where r.tenant = ? and r.id in (select value from json_each(?))`,
      args: [actor.tenant, ids],
    },
    ...deleteStatements("device", actor, now, ids),
  ];
  await deleting(store.db, { device: ids }, () => store.db.write(statements));
}

const above = `with recursive above (id) as (
  select ? union select d.parentDevice from device d join above a on d.id = a.id
  where d.parentDevice is not null)`;

/** Breaks a foreign key, and so the transaction, if `parent` is the device or below it. */
function refuseCycle(device: number, parent: number): Statement {
  return {
    sql: `update device set parentDevice = -1
      where id = ? and exists (${above} select 1 from above where id = ?)`,
    args: [device, parent, device],
  };
}

/** True if `ancestor` is the device itself or above it in the chain of parents. */
export async function isBelow(store: DeviceStore, ancestor: number, device: number): Promise<boolean> {
  const row = await store.db.first<{ n: number }>(`${above} select count(*) n from above where id = ?`, [
    device,
    ancestor,
  ]);
  return (row?.n ?? 0) > 0;
}
