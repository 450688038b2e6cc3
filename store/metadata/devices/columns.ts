import type { SqlValue } from "../db/db.js";
import { formatPlace, type Vault } from "../db/secrets.js";
import type { Device } from "./record.js";

/** The columns that a caller may set, by their names in the interface. */
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
    | "gatewayProtocol"
    | "upLinkNetwork"
    | "upLinkProtocol"
    | "mac"
  >
>;

const jsonColumns = ["location", "metaData", "scopes"] as const;

/** The names of a device to which its sealed secrets are bound. */
interface DeviceName {
  readonly tenant: number;
  readonly deviceID: string;
}

export const tokenPlace = ({ tenant, deviceID }: DeviceName): string =>
  formatPlace("device.token", tenant, deviceID);
export const loraPlace = ({ tenant, deviceID }: DeviceName): string =>
  formatPlace("device.lora", tenant, deviceID);

/** The input as it is stored: JSON as text, secrets sealed for their device. */
export function toColumns(vault: Vault, of: DeviceName, input: DeviceInput): Record<string, SqlValue> {
  const { token, lora, ...rest } = input;
  const columns = { ...rest } as Record<string, SqlValue>;
  for (const name of jsonColumns) {
    const value = input[name];
    if (value !== undefined) columns[name] = value === null ? null : JSON.stringify(value);
  }
  // The LoRa keys are secrets like the token.
  if (lora !== undefined) columns.lora = lora === null ? null : sealedLora(vault, of, lora);
  if (token !== undefined) columns.token = vault.seal(token, tokenPlace(of));
  return columns;
}

function sealedLora(vault: Vault, of: DeviceName, lora: object): string {
  return Buffer.from(vault.seal(JSON.stringify(lora), loraPlace(of))).toString("base64");
}

/** The part of an input that the audit log may show. */
export function toAudit(input: DeviceInput): object {
  const { token, lora, ...rest } = input;
  return { ...rest, ...(token === undefined ? {} : { token: "***" }), ...(lora ? { lora: "***" } : {}) };
}
