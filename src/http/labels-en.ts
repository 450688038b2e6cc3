/** The display texts of the interface in English: the same names and codes as the dictionary has in Chinese. */
import { dictionary, type dictionaryB, textDictionary } from "./labels.js";

/** A text for each code of each name. */
type Same<Dictionary> = {
  readonly [Name in keyof Dictionary]: { readonly [Code in keyof Dictionary[Name]]: string };
};

const { cloudProtocol, gatewayProtocol, upLinkProtocol, physicalNetwork, upLinkNetwork } = dictionary;

export const dictionaryEn = {
  cloudProtocol,
  gatewayProtocol,
  upLinkProtocol,
  physicalNetwork,
  upLinkNetwork,
  authType: { 1: "token", 2: "certificate" },
  deviceStatus: { 0: "offline", 1: "online", 2: "sleeping" },
  connectStatus: { 0: "went offline", 1: "came online", 2: "failed to log in" },
  deviceType: { 1: "terminal", 3: "smartphone" },
  carrier: { 1: "China Telecom", 2: "China Mobile", 3: "China Unicom", 4: "other" },
  publishStatus: { 0: "failed", 1: "issued", 2: "arrived", 3: "no receipt needed" },
  pointDataType: {
    1: "number",
    3: "text",
    4: "fault",
    5: "boolean",
    6: "place",
    11: "text of fixed length",
    12: "text of any length",
    13: "bytes of fixed length",
    14: "bytes of any length",
    15: "signed integer",
    16: "unsigned integer",
    17: "float",
    18: "double",
    19: "bits",
    21: "signed long (Modbus)",
    22: "unsigned long (Modbus)",
    23: "boolean (Modbus)",
    24: "time (Modbus)",
    25: "float (Modbus)",
  },
  dataTransType: { 1: "reported", 2: "issued", 3: "reported and issued" },
  streamType: { 1: "device, up", 2: "device, down", 3: "gateway, up", 4: "gateway, down" },
  streamDataType: { 1: "JSON", 2: "binary" },
  metricType: { 1: "formula", 2: "aggregate" },
  aggregateType: {
    1: "maximum",
    2: "minimum",
    3: "mean",
    4: "sum",
    5: "increase",
    6: "first",
    7: "last",
    8: "count",
  },
  aggregateData: { 1: "formula", 2: "raw value" },
  chartType: { 1: "line", 2: "bars" },
  alertSeverity: { 1: "urgent", 2: "major", 3: "minor", 4: "warning" },
  templateType: { 1: "switch", 2: "choice", 3: "number", 4: "text", 5: "boolean", 6: "time" },
  scheduleType: { 0: "once", 1: "repeated", 2: "done" },
  access: { 0: "publish", 1: "subscribe", 2: "publish and subscribe" },
  allow: { 0: "deny", 1: "allow" },
  scopeType: { 1: "must stay within", 2: "must stay out" },
  "lora.fcntCheck": dictionary["lora.fcntCheck"],
} as const satisfies Same<typeof dictionary>;

export const dictionaryBEn = {
  deviceType: { 0: "terminal", 1: "gateway", 2: "smartphone" },
  status: { 0: "offline", 1: "online" },
  deviceStatus: dictionaryEn.connectStatus,
} as const satisfies Same<typeof dictionaryB>;

export const textDictionaryEn = {
  codeValue: {
    serialNumber: "serial number",
    softVersion: "software version",
    hardwareVersion: "hardware version",
    manufacturer: "manufacturer",
  },
  "lora.region": textDictionary["lora.region"],
} as const satisfies Same<typeof textDictionary>;
