import { type Actor, changed } from "./changes.js";
import type { Db, SqlValue, Statement } from "./db.js";
import type { Vault } from "./secrets.js";
import {
  deleteRows,
  fromJson,
  getRow,
  insertInto,
  integer,
  type Listing,
  listRows,
  type Page,
  type PageRequest,
  text,
  updateRow,
} from "./table.js";

/** A row of the device table: a device, or a gateway (kind). */
export interface Device {
  readonly id: number;
  readonly tenant: number;
  readonly kind: "device" | "gateway";
  readonly deviceID: string;
  readonly deviceName: string;
  readonly deviceUsername: string;
  readonly token: string;
  readonly authType: number;
  readonly blocked: number;
  readonly deviceStatus: number;
  readonly deviceType: number | null;
  readonly upLinkSystem: number | null;
  readonly gateway: number | null;
  readonly gatewayName: string | null;
  readonly parentDevice: number | null;
  readonly parentDeviceName: string | null;
  readonly productIntID: number;
  readonly productID: string;
  readonly productName: string;
  readonly cloudProtocol: number;
  readonly modBusIndex: number | null;
  readonly carrier: number | null;
  readonly physicalNetwork: number | null;
  readonly IMEI: string | null;
  readonly IMSI: string | null;
  readonly autoSub: number | null;
  readonly manufacturer: string | null;
  readonly serialNumber: string | null;
  readonly softVersion: string | null;
  readonly hardwareVersion: string | null;
  readonly description: string | null;
  readonly deviceConsoleIP: string | null;
  readonly deviceConsolePort: number | null;
  readonly deviceConsoleUsername: string | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly location: unknown;
  readonly lora: Readonly<Record<string, unknown>> | null;
  readonly metaData: unknown;
  readonly scopes: readonly unknown[];
  readonly clientIP: string | null;
  readonly connectedAt: number | null;
  readonly keepAlive: number | null;
  readonly tenantID: string;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  select: `r.*, p.productID, p.productName, p.cloudProtocol, t.tenantID,
    g.deviceName gatewayName, d.deviceName parentDeviceName`,
  from: `device r join product p on p.id = r.productIntID join tenant t on t.id = r.tenant
    left join device g on g.id = r.gateway left join device d on d.id = r.parentDevice`,
  filters: {
    deviceID: text("deviceID"),
    deviceName: text("deviceName"),
    deviceUsername: text("deviceUsername"),
    productID: { column: "p.productID", type: "text" },
    productName: { column: "p.productName", type: "text" },
    productIntID: integer("productIntID"),
    cloudProtocol: { column: "p.cloudProtocol", type: "integer" },
    authType: integer("authType"),
    blocked: integer("blocked"),
    deviceStatus: integer("deviceStatus"),
    deviceType: integer("deviceType"),
    upLinkSystem: integer("upLinkSystem"),
    gateway: integer("gateway"),
    parentDevice: integer("parentDevice"),
    modBusIndex: integer("modBusIndex"),
    carrier: integer("carrier"),
    physicalNetwork: integer("physicalNetwork"),
    IMEI: text("IMEI"),
    IMSI: text("IMSI"),
    autoSub: integer("autoSub"),
    manufacturer: text("manufacturer"),
    serialNumber: text("serialNumber"),
    softVersion: text("softVersion"),
    hardwareVersion: text("hardwareVersion"),
    description: text("description"),
    deviceConsoleIP: text("deviceConsoleIP"),
    deviceConsolePort: integer("deviceConsolePort"),
    deviceConsoleUsername: text("deviceConsoleUsername"),
    userIntID: integer("userIntID"),
  },
};

export const deviceFilters = listing.filters;
export const deviceIDs = { name: "device", column: "deviceID", scope: "kind = 'device'" } as const;
/** Sub-resources and the data endpoints take gateways too. */
export const anyDeviceIDs = { name: "device", column: "deviceID" } as const;

type DeviceRow = Omit<Device, "token" | "location" | "lora" | "metaData" | "scopes"> & {
  token: ArrayBuffer;
  location: string | null;
  lora: string | null;
  metaData: string | null;
  scopes: string;
};

export interface DeviceStore {
  readonly db: Db;
  readonly vault: Vault;
}

function toDevice(store: DeviceStore, row: DeviceRow): Device {
  return {
    ...row,
    token: store.vault.open(new Uint8Array(row.token)),
    location: fromJson(row.location),
    lora: row.lora === null ? null : fromJson(store.vault.open(Buffer.from(row.lora, "base64"))),
    metaData: fromJson(row.metaData),
    scopes: fromJson(row.scopes) ?? [],
  };
}

export async function listDevices(
  store: DeviceStore,
  tenant: number,
  request: PageRequest,
): Promise<Page<Device>> {
  const page = await listRows<DeviceRow>(store.db, listing, tenant, request, { sql: "r.kind = 'device'" });
  return { ...page, items: page.items.map((row) => toDevice(store, row)) };
}

/** A device or a gateway. @throws StoreError NOT_FOUND */
export async function getDevice(store: DeviceStore, tenant: number, id: number): Promise<Device> {
  return toDevice(store, await getRow<DeviceRow>(store.db, listing, tenant, id));
}

async function findOne(store: DeviceStore, condition: string, value: SqlValue): Promise<Device | undefined> {
  const row = await store.db.first<DeviceRow>(
    `select ${listing.select} from ${listing.from} where ${condition}`,
    [value],
  );
  return row && toDevice(store, row);
}

/** By the user name that it connects with; over all tenants, for user names are unique. */
export function findDeviceByUsername(
  store: DeviceStore,
  deviceUsername: string,
): Promise<Device | undefined> {
  return findOne(store, "r.deviceUsername = ?", deviceUsername);
}

/** By record id, over all tenants: the way up has no caller. */
export function findDeviceByID(store: DeviceStore, id: number): Promise<Device | undefined> {
  return findOne(store, "r.id = ?", id);
}

/** The columns that a caller may set; names of the interface. */
export type DeviceInput = Partial<
  Pick<
    Device,
    | "deviceName"
    | "deviceUsername"
    | "token"
    | "authType"
    | "blocked"
    | "deviceType"
    | "upLinkSystem"
    | "gateway"
    | "parentDevice"
    | "modBusIndex"
    | "carrier"
    | "physicalNetwork"
    | "IMEI"
    | "IMSI"
    | "autoSub"
    | "manufacturer"
    | "serialNumber"
    | "softVersion"
    | "hardwareVersion"
    | "description"
    | "deviceConsoleIP"
    | "deviceConsolePort"
    | "deviceConsoleUsername"
    | "latitude"
    | "longitude"
    | "location"
    | "lora"
    | "metaData"
    | "scopes"
  >
>;

const jsonColumns = ["location", "metaData", "scopes"] as const;

function toColumns(store: DeviceStore, input: DeviceInput): Record<string, SqlValue> {
  const { token, lora, ...rest } = input;
  const columns = { ...rest } as Record<string, SqlValue>;
  for (const name of jsonColumns) {
    const value = input[name];
    if (value !== undefined) columns[name] = value === null ? null : JSON.stringify(value);
  }
  // Its keys are secrets like the token.
  if (lora !== undefined) columns.lora = lora === null ? null : sealedText(store.vault, JSON.stringify(lora));
  if (token !== undefined) columns.token = store.vault.seal(token);
  return columns;
}

function sealedText(vault: Vault, text: string): string {
  return Buffer.from(vault.seal(text)).toString("base64");
}

/** What the audit log may show of an input. */
function auditOf(input: DeviceInput): object {
  const { token, lora, ...rest } = input;
  return { ...rest, ...(token === undefined ? {} : { token: "***" }), ...(lora ? { lora: "***" } : {}) };
}

export interface NewDevice extends DeviceInput {
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
      ...toColumns(store, rest),
      userIntID: actor.userIntID,
      createUser: actor.username,
      createAt: now,
    }),
    changed(actor, now, "create", "device", null, { deviceID, productIntID, ...auditOf(rest) }),
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

export async function updateDevice(
  store: DeviceStore,
  actor: Actor,
  now: number,
  id: number,
  input: DeviceInput,
): Promise<Device> {
  await store.db.write([
    updateRow("device", actor.tenant, id, { ...toColumns(store, input), updateAt: now }),
    changed(actor, now, "update", "device", id, auditOf(input)),
  ]);
  return getDevice(store, actor.tenant, id);
}

/**
 * Removes the rows and leaves a removal for each, which the background takes up: its points go and then its
 * deviceID is free. @throws StoreError REFERENCED when children hang on one
 */
export async function removeDevices(
  store: DeviceStore,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await store.db.write([
    {
      sql: `insert into removal (tenant, productID, deviceID, createAt)
        select r.tenant, p.productID, r.deviceID, ? from device r join product p on p.id = r.productIntID
        where r.tenant = ? and r.id in (select value from json_each(?))`,
      args: [now, actor.tenant, ids],
    },
    {
      sql: `insert into departed_device (id, tenant, deviceID, deviceName)
        select id, tenant, deviceID, deviceName from device
        where tenant = ? and id in (select value from json_each(?))`,
      args: [actor.tenant, ids],
    },
    deleteRows("device", actor.tenant, ids),
    ...ids.map((id) => changed(actor, now, "delete", "device", id)),
  ]);
}

/** True when `ancestor` is the device itself or stands above it in the chain of parents. */
export async function isBelow(store: DeviceStore, ancestor: number, device: number): Promise<boolean> {
  const row = await store.db.first<{ n: number }>(
    `with recursive above (id) as (
       select ? union select d.parentDevice from device d join above a on d.id = a.id
       where d.parentDevice is not null)
     select count(*) n from above where id = ?`,
    [device, ancestor],
  );
  return (row?.n ?? 0) > 0;
}

/** One presence change of a device, as the service saw it. */
export interface PresenceChange {
  readonly id: number;
  readonly deviceStatus: number;
  readonly clientIP: string | null;
  readonly connectedAt: number | null;
  readonly keepAlive: number | null;
}

/** Presence is the service's own observation: no audit row, no updateAt. */
export async function storePresence(db: Db, node: number, changes: readonly PresenceChange[]): Promise<void> {
  if (changes.length === 0) return;
  await db.write(
    changes.map((change) => ({
      sql: `update device set deviceStatus = ?, clientIP = ?, connectedAt = coalesce(?, connectedAt),
        keepAlive = ?, node = ? where id = ?`,
      args: [
        change.deviceStatus,
        change.clientIP,
        change.connectedAt,
        change.keepAlive,
        change.deviceStatus === 0 ? null : node,
        change.id,
      ],
    })),
  );
}

/** At start nobody is connected to this node yet, whatever a killed run left behind. */
export async function clearPresence(db: Db, node: number): Promise<void> {
  await db.write([
    {
      sql: "update device set deviceStatus = 0, clientIP = null, keepAlive = null, node = null where node = ?",
      args: [node],
    },
  ]);
}

/** Names for log rows: the present ones, after deletion the last. */
export async function deviceNames(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, { deviceID: string; deviceName: string }>> {
  const rows = await db.all<{ id: number; deviceID: string; deviceName: string }>(
    `with asked as (select value id from json_each(?1))
     select id, deviceID, deviceName from device where id in (select id from asked)
     union all select id, deviceID, deviceName from departed_device where id in (select id from asked)`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Record ids of devices and gateways, present or deleted, that log filters mean; at most `limit` + 1. */
export async function deviceIDsByNames(
  db: Db,
  tenant: number,
  conditions: readonly {
    readonly column: "deviceID" | "deviceName";
    readonly like: boolean;
    readonly value: string;
  }[],
  limit: number,
): Promise<number[]> {
  const where = conditions.map(({ column, like }) =>
    like ? `instr(lower(${column}), lower(?)) > 0` : `${column} = ?`,
  );
  const args = conditions.map(({ value }) => value);
  const part = (table: string) =>
    `select id from ${table} where tenant = ?${where.map((one) => ` and ${one}`).join("")}`;
  const rows = await db.all<{ id: number }>(
    `${part("device")} union all ${part("departed_device")} limit ?`,
    [tenant, ...args, tenant, ...args, limit + 1],
  );
  return rows.map((row) => row.id);
}
