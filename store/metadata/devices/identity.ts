import { fromJson } from "../db/table.js";
import { tokenPlace } from "./columns.js";
import type { DeviceStore } from "./devices.js";
import type { Device } from "./record.js";

/**
 * A device or gateway as incoming messages need it: its tenant, how it may authenticate, and its fences. It is not the
 * whole record, because it is remembered for each of ten thousand connections.
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
> & {
  /** The gateway or parent device above it, or null. */
  readonly parent: number | null;
  /** The cloud protocol of its product; a gateway's own protocol upwards. */
  readonly protocol: number;
  readonly isGateway: boolean;
};

type IdentityRow = Omit<DeviceIdentity, "token" | "scopes" | "isGateway"> & {
  readonly kind: string;
  readonly token: ArrayBuffer;
  readonly scopes: string;
};

const noScopes: DeviceIdentity["scopes"] = [];

const select = `select r.id, r.tenant, r.deviceID, r.deviceUsername, r.token, r.authType, r.blocked,
    r.productIntID, p.productID, r.scopes, r.kind, coalesce(r.upLinkProtocol, p.cloudProtocol) protocol, coalesce(r.gateway, r.parentDevice) parent
  from device r join product p on p.id = r.productIntID`;

/** @throws StoreError CORRUPT */
export function toIdentity({ vault }: DeviceStore, row: IdentityRow): DeviceIdentity {
  const { id, tenant, deviceID, deviceUsername, authType, blocked, productIntID, productID } = row;
  const token = vault.open(new Uint8Array(row.token), tokenPlace(row));
  const scopes = row.scopes === "[]" ? noScopes : (fromJson<unknown[]>(row.scopes) ?? noScopes);
  return {
    id,
    tenant,
    deviceID,
    deviceUsername,
    token,
    authType,
    blocked,
    productIntID,
    productID,
    scopes,
    parent: row.parent,
    protocol: row.protocol,
    isGateway: row.kind === "gateway",
  };
}

/**
 * Finds devices by the user names that they connect with; over all tenants, because user names are unique. Returns rows
 * as they are stored (`toIdentity`), so that one that cannot be unsealed harms no other.
 */
export function findRowsByUsername(store: DeviceStore, names: readonly string[]): Promise<IdentityRows> {
  return findRowsBy(store, "deviceUsername", names);
}

/** The same by deviceID. */
export function findRowsByDeviceID(store: DeviceStore, ids: readonly string[]): Promise<IdentityRows> {
  return findRowsBy(store, "deviceID", ids);
}

type IdentityRows = ReadonlyMap<string, IdentityRow>;

async function findRowsBy(
  { db }: DeviceStore,
  column: "deviceUsername" | "deviceID",
  values: readonly string[],
): Promise<IdentityRows> {
  // Binds one parameter for each text: json_each must never decode text from outside.
  const marks = values.map(() => "?").join(", ");
  const rows = await db.all<IdentityRow>(`${select} where r.${column} in (${marks})`, values);
  return new Map(rows.map((row) => [row[column], row]));
}

/** Finds a device by record id, over all tenants: incoming messages have no caller. */
export async function findIdentity(store: DeviceStore, id: number): Promise<DeviceIdentity | undefined> {
  const row = await store.db.first<IdentityRow>(`${select} where r.id = ?`, [id]);
  return row && toIdentity(store, row);
}
