import { z } from "@hono/zod-openapi";
import { crossing, unroll } from "../../ingest/alerts/geofence.js";
import type { DeviceInput } from "../../store/metadata/devices/columns.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { codeField, codesField, float, integerField, jsonField, name, textField } from "../http/fields.js";
import { listCodes, textDictionary } from "../http/labels.js";

/**
 * The schemas of a device's fields and the rules between them (interface, "Field rules for create and edit").
 */

const hex = (digits: number) =>
  z.string().regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), `must be ${digits} hexadecimal digits`);

const lora = z.object({
  type: z.enum(["otaa", "abp"]).optional(),
  appEUI: hex(16).nullable().optional(),
  appKey: hex(32).nullable().optional(),
  fcntCheck: codesField(0, 3).nullable().optional(),
  canJoin: codeField(0, 1).nullable().optional(),
  region: z.enum(Object.keys(textDictionary["lora.region"])).nullable().optional(),
  nwkSKey: hex(32).nullable().optional(),
  appSKey: hex(32).nullable().optional(),
  fcntUp: integerField(0, 2 ** 32 - 1)
    .nullable()
    .optional(),
  fcntDown: integerField(0, 2 ** 32 - 1)
    .nullable()
    .optional(),
});

const place = z.tuple([float(-180, 180), float(-90, 90)]);
const scopeNamed = { scopeType: codeField(1, 2), scopeName: name };
const ring = z
  .array(place)
  .min(3)
  .max(1000)
  .superRefine((points, context) => {
    if (unroll(points).length < 3) context.addIssue("must have three different points");
    const edges = crossing(points);
    if (edges !== null) context.addIssue(`crosses itself: edges ${edges[0] + 1} and ${edges[1] + 1} meet`);
  });
const scope = z.union([
  z.object({ ...scopeNamed, points: ring }),
  z.object({ ...scopeNamed, center: place, radius: float(0, 20_100_000) }),
]);

export const deviceID = z
  .string()
  .min(1)
  .max(64)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  .regex(/^[^\s\u0000-\u001f\u007f/+#,]*$/, "must not hold spaces, control characters or / + # ,");

/** Fields that a create and an edit take alike. */
export const deviceFields = {
  authType: codeField(...listCodes("authType")),
  blocked: codeField(0, 1),
  upLinkSystem: codesField(1, 3),
  gateway: integerField(1),
  parentDevice: integerField(1),
  modBusIndex: integerField(0, 255),
  modBuxIndex: integerField(0, 255),
  carrier: codeField(...listCodes("carrier")),
  physicalNetwork: codeField(...listCodes("physicalNetwork")),
  IMEI: textField.max(64),
  IMSI: textField.max(64),
  autoSub: codeField(0, 1),
  manufacturer: textField.max(255),
  serialNumber: textField.max(255),
  softVersion: textField.max(255),
  hardwareVersion: textField.max(255),
  description: textField,
  deviceConsoleIP: textField.max(255),
  deviceConsolePort: integerField(0, 65_535),
  deviceConsoleUsername: textField.max(255),
  latitude: float(-90, 90),
  longitude: float(-180, 180),
  location: jsonField,
  lora,
  metaData: jsonField,
  scopes: z.array(scope).max(100),
  deviceUsername: name.max(255),
  token: z.string().min(1).max(1024),
} as const;

/** Other spellings of fields in bodies → the proper one. */
export const bodySpellings = { modBuxIndex: "modBusIndex" } as const;

/** The record as it would be stored, for the rules. */
export type DeviceDraft = Pick<
  Device,
  "deviceID" | "deviceType" | "upLinkSystem" | "gateway" | "parentDevice" | "modBusIndex" | "IMEI" | "autoSub"
> & { readonly authType: number | null; readonly lora: Readonly<Record<string, unknown>> | null };

export const deviceProtocols = {
  mqtt: 1,
  coap: 2,
  lwm2m: 3,
  lora: 4,
  http: 5,
  webSocket: 6,
  modbus: 7,
} as const;

type FieldErrors = Record<string, string>;

const missing = "is required";

function requireFields(
  draft: DeviceDraft,
  fields: readonly (keyof DeviceDraft)[],
  errors: FieldErrors,
): void {
  for (const field of fields) {
    const value = draft[field];
    if (value === null || value === undefined || value === "") errors[field] = missing;
  }
}

/** For each LoRa join type, the members that it needs, and the length of its deviceID in hexadecimal digits. */
const loraRules = {
  otaa: { members: ["appEUI", "appKey", "fcntCheck", "canJoin"], idDigits: 16, idName: "DevEUI" },
  abp: {
    members: ["region", "nwkSKey", "appSKey", "fcntUp", "fcntDown", "fcntCheck"],
    idDigits: 8,
    idName: "DevAddr",
  },
} as const;

function checkLora(draft: DeviceDraft, errors: FieldErrors): void {
  const type = draft.lora?.type;
  if (type !== "otaa" && type !== "abp") {
    errors["lora.type"] = missing;
    return;
  }
  const rule = loraRules[type];
  for (const member of rule.members) {
    if (draft.lora?.[member] === undefined || draft.lora[member] === null) errors[`lora.${member}`] = missing;
  }
  if (type === "abp") requireFields(draft, ["gateway"], errors);
  if (!new RegExp(`^[0-9a-fA-F]{${rule.idDigits}}$`).test(draft.deviceID)) {
    errors.deviceID = `must be a ${rule.idName} of ${rule.idDigits} hexadecimal digits`;
  }
}

const needsAuthType = (draft: DeviceDraft, errors: FieldErrors) => requireFields(draft, ["authType"], errors);

/** Additional requirements of each cloud protocol. */
const protocolRules: ReadonlyMap<number, (draft: DeviceDraft, errors: FieldErrors) => void> = new Map([
  [deviceProtocols.mqtt, needsAuthType],
  [deviceProtocols.coap, needsAuthType],
  [deviceProtocols.http, needsAuthType],
  [deviceProtocols.webSocket, needsAuthType],
  [deviceProtocols.lwm2m, (draft, errors) => requireFields(draft, ["IMEI", "autoSub"], errors)],
  [deviceProtocols.lora, checkLora],
  [deviceProtocols.modbus, (draft, errors) => requireFields(draft, ["modBusIndex", "authType"], errors)],
]);

/** The faults of a draft by itself: field → text. */
export function checkDevice(draft: DeviceDraft, cloudProtocol: number): FieldErrors {
  const errors: FieldErrors = {};
  if (draft.deviceType === 1) requireFields(draft, ["upLinkSystem"], errors);
  else if (draft.upLinkSystem !== null) errors.upLinkSystem = "must be empty unless deviceType is 1";
  if (draft.upLinkSystem === 2) requireFields(draft, ["gateway"], errors);
  if (draft.upLinkSystem === 3) requireFields(draft, ["parentDevice"], errors);
  protocolRules.get(cloudProtocol)?.(draft, errors);
  return errors;
}

/** Links that upLinkSystem does not call for are not stored; an ABP device keeps its gateway. */
export function dropUncalledLinks(draft: DeviceDraft): Pick<DeviceInput, "gateway" | "parentDevice"> {
  const needsGateway = draft.upLinkSystem === 2 || draft.lora?.type === "abp";
  return {
    gateway: needsGateway ? draft.gateway : null,
    parentDevice: draft.upLinkSystem === 3 ? draft.parentDevice : null,
  };
}
