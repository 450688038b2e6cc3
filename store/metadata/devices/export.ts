import { type Filter, toCondition } from "../db/table.js";
import { type DeviceRow, type DeviceStore, toDevice, toStoredRequest } from "./devices.js";
import { devices, everyKind } from "./listing.js";
import type { Device } from "./record.js";

/** Each value of a row costs a conversion, so only those that a file has are read. */
const ownColumns = [
  ...(["id", "deviceID", "deviceName", "deviceUsername", "token", "authType", "blocked"] as const),
  ...(["deviceType", "upLinkSystem", "modBusIndex", "carrier", "physicalNetwork", "IMEI", "IMSI"] as const),
  ...(["autoSub", "manufacturer", "serialNumber", "softVersion", "hardwareVersion"] as const),
  ...(["description", "deviceConsoleIP", "deviceConsolePort", "deviceConsoleUsername"] as const),
  ...(["latitude", "longitude", "location", "lora", "metaData", "scopes"] as const),
] as const;
const columns = ownColumns.map((column) => `r.${column}`).join(", ");

/** A device as a file has it, with the string ids of the records that it depends on, which hold in any deployment. */
export interface ExportedDeviceRow
  extends Pick<Device, (typeof ownColumns)[number] | "productID" | "cloudProtocol"> {
  readonly gatewayDeviceID: string | null;
  readonly parentDeviceID: string | null;
}

export interface DeviceExportRequest {
  readonly tenant: number;
  readonly filters: readonly Filter[];
  /** Whether a filter on deviceType has the codes of Variant B. */
  readonly codesB: boolean;
}

/** Reads the devices of a list, without gateways, oldest first; each step continues after the last id. */
interface DeviceReading {
  count(): Promise<number>;
  after(id: number, limit: number): Promise<ExportedDeviceRow[]>;
}

export function readDevices(
  store: DeviceStore,
  { tenant, filters, codesB }: DeviceExportRequest,
): DeviceReading {
  const listing = codesB ? everyKind : devices;
  const request = toStoredRequest({ page: 1, limit: 1, filters });
  const { sql: where, args } = toCondition(listing, tenant, request.filters, { sql: "r.kind = 'device'" });
  return {
    count: async () => {
      const row = await store.db.first<{ n: number }>(
        `select count(*) n from ${listing.from} where ${where}`,
        args,
      );
      return row?.n ?? 0;
    },
    after: async (id, limit) => {
      const rows = await store.db.all<DeviceRow & ExportedDeviceRow>(
        `select ${columns}, r.tenant, p.productID, p.cloudProtocol, g.deviceID gatewayDeviceID, d.deviceID parentDeviceID
         from ${listing.from} where ${where} and r.id > ? order by r.id limit ?`,
        [...args, id, limit],
      );
      return rows.map((row) => toDevice(store, row) as Device & ExportedDeviceRow);
    },
  };
}
