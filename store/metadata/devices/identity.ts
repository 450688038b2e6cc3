import { fromJson } from "../db/table.js";
import type { DeviceStore } from "./devices.js";
import type { Device } from "./record.js";

/**
 * What the way up knows of a device or gateway: whose it is, and how it may come in, and its fences. It is remembered
 * for each of ten thousand connections, so it is not the whole record.
 */
export type DeviceIdentity = Pick<
  Device,
  | "id"
  | "tenant"
  | "deviceID"
  | "deviceUsername"
  | "token"
  | "authType"
  | "blocked"
  | "productIntID"
  | "productID"
  | "scopes"
>;

type IdentityRow = Omit<DeviceIdentity, "token" | "scopes"> & {
  readonly token: ArrayBuffer;
  readonly scopes: string;
};

const noScopes: DeviceIdentity["scopes"] = [];

const select = `select r.id, r.tenant, r.deviceID, r.deviceUsername, r.token, r.authType, r.blocked,
    r.productIntID, p.productID, r.scopes
  from device r join product p on p.id = r.productIntID`;

/** @throws StoreError CORRUPT */
export function toIdentity({ vault }: DeviceStore, row: IdentityRow): DeviceIdentity {
  const { id, tenant, deviceID, deviceUsername, authType, blocked, productIntID, productID } = row;
  const token = vault.open(new Uint8Array(row.token));
  const scopes = row.scopes === "[]" ? noScopes : (fromJson<unknown[]>(row.scopes) ?? noScopes);
  return { id, tenant, deviceID, deviceUsername, token, authType, blocked, productIntID, productID, scopes };
}

/**
 * By the user names that they connect with; over all tenants, for user names are unique. Rows as they are stored
 * (`toIdentity`), so that one that cannot be opened harms no other.
 */
export function findRowsByUsername(store: DeviceStore, names: readonly string[]): Promise<IdentityRows> {
  return findRowsBy(store, "deviceUsername", names);
}

/** By deviceID, otherwise the same. */
export function findRowsByDeviceID(store: DeviceStore, ids: readonly string[]): Promise<IdentityRows> {
  return findRowsBy(store, "deviceID", ids);
}

type IdentityRows = ReadonlyMap<string, IdentityRow>;

async function findRowsBy(
  { db }: DeviceStore,
  column: "deviceUsername" | "deviceID",
  values: readonly string[],
): Promise<IdentityRows> {
  // One bound parameter a text: json_each must never decode text from outside.
  const marks = values.map(() => "?").join(", ");
  const rows = await db.all<IdentityRow>(`${select} where r.${column} in (${marks})`, values);
  return new Map(rows.map((row) => [row[column], row]));
}

/** By record id, over all tenants: the way up has no caller. */
export async function findIdentity(store: DeviceStore, id: number): Promise<DeviceIdentity | undefined> {
  const row = await store.db.first<IdentityRow>(`${select} where r.id = ?`, [id]);
  return row && toIdentity(store, row);
}
