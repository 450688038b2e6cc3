import { type ErrorCode, errorStatus } from "../http/errors.js";
import { dictionary, dictionaryB, textDictionary } from "../views/labels.js";
import { type Document, type Media, operationsOf, resolve, type Schema } from "./closing.js";
import { errorText } from "./texts.js";

/** Examples of bodies and answers, made by walking their schemas: a field's value follows from its name. */

const stamp = "2026-11-21 10:00:00";

/** Field → its value wherever the schema takes it. */
const values: Readonly<Record<string, unknown>> = {
  ...{ productID: "k3Xb9Q", productName: "greenhouse", tenantID: "Cq8LZ0aT7", userIntID: 1 },
  ...{ deviceID: "gh-1", deviceName: "bench 1", deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11" },
  ...{ token: "9a1d7c52-0c59-4f0e-8a86-7a8f4f1f8f20", groupID: "w7Hn2c", groupName: "east wing" },
  ...{ gatewayName: "north", mac: "00:1B:44:11:3A:B7", upLinkSystem: 1, blocked: 0, isShow: 1 },
  ...{ manufacturer: "Acme", serialNumber: "SN-0001", softVersion: "1.4.0", hardwareVersion: "B2" },
  ...{ description: "first bench", detail: "remark", location: "row 1", IMEI: "861234567890123" },
  ...{ IMSI: "460011234567890", latitude: 47.37, longitude: 8.54, clientIP: "192.0.2.7", IP: "192.0.2.7" },
  ...{ keepAlive: 60, createUser: "admin", publishUser: "admin", username: "admin", role: "operator" },
  ...{ dataPointID: "temp", dataPointName: "temperature", unitName: "degree", unitSymbol: "°C" },
  ...{ upperLimit: 40, lowerLimit: -5, dataStep: 0.5, faultValue: "E1", registerAddr: "40001" },
  ...{ streamName: "climate", topic: "climate", payload: '{"temp":21.5}', metricName: "fahrenheit" },
  ...{ expressions: "dataPoint * 9 / 5 + 32", remark: "for the console", codeValue: "serialNumber" },
  ...{ templateName: "lamp", alertName: "temperature超上限", alertContent: "temperature超上限: 41 > 40" },
  ...{ name: "field", CN: "Cq8LZ0aT7:7hq2v0d3k5m8p1r4t6w9z2b5c8", scheduleName: "every morning" },
  ...{ IntervalMinute: 60, crontabTime: "2026-12-01 06:00:00", count: 1, limit: 10, page: 1, qos: 1 },
  ...{ statusUrl: "/task_status/7f6c2a", state: "SUCCESS", current: 100, publishStatus: "successful" },
  ...{ appID: "cefb876a-3c57-4a0c-a1be-1f0a3f5b9a10", timezone: "UTC", time: stamp, value: 21.5 },
  ...{ deviceConsolePort: 22, deviceConsoleUsername: "root", deviceConsoleIP: "192.0.2.7", label: "bench 1" },
  ...{ mqttBroker: "iot.example.com:1883", mqttsBroker: "iot.example.com:8883", text: stamp },
  ...{ mqttssBroker: "iot.example.com:8884", coapBroker: "iot.example.com:5683" },
  ...{ coapsBroker: "iot.example.com:5684", coapssBroker: "iot.example.com:5685" },
  ...{ wsBroker: "iot.example.com:8083", wssBroker: "iot.example.com:8084", status: "ok" },
  ...{ password: "correct horse battery", tenantName: "east", pointDataType: 1, streamType: 1 },
};

/** Fields of a request that only some protocols or kinds take. */
const seldom = new Set([
  ...["gateway", "parentDevice", "lora", "modBusIndex", "modBuxIndex", "autoSub", "scopes", "faultValue"],
  ...["binarySize", "registerAddr", "isDiscard", "isLocationType", "locationType", "gatewayIntID", "crontab"],
]);

interface Walk {
  readonly document: Document;
  /** Which of several forms: 0 is Variant A's, 1 Variant B's. */
  readonly form: 0 | 1;
  readonly request: boolean;
  /** Inside a record of Variant B's device shape, whose deviceType has codes of its own. */
  readonly deviceB?: boolean;
}

export const errorExamples = Object.fromEntries(
  (Object.keys(errorStatus) as ErrorCode[]).map((errorCode) => [
    errorCode,
    {
      value: {
        errorCode,
        message: errorText[errorCode].replaceAll("`", ""),
        errors: errorCode === "PARAMETER_INVALID" ? { _limit: "must be a whole number from 1 to 1000" } : {},
      },
    },
  ]),
);

export function addExamples(document: Document): void {
  for (const { requestBody, responses } of operationsOf(document)) {
    for (const media of Object.values(requestBody?.content ?? {})) illustrate(document, media, true);
    for (const { content } of Object.values(responses)) {
      for (const media of Object.values(content ?? {})) illustrate(document, media, false);
    }
  }
}

function illustrate(document: Document, media: Media, request: boolean): void {
  const { schema } = media;
  if (schema === undefined || media.examples !== undefined || media.example !== undefined) return;
  const [a, b] = ([0, 1] as const).map((form) => exampleOf(schema, "", { document, form, request }));
  if (JSON.stringify(a) === JSON.stringify(b)) media.example = a;
  else media.examples = { A: { summary: "Variant A", value: a }, B: { summary: "Variant B", value: b } };
}

function exampleOf(schema: Schema, name: string, walk: Walk): unknown {
  const own = resolve(walk.document, schema);
  if (own.example !== undefined) return own.example;
  if (own.const !== undefined) return own.const;
  const choices = own.anyOf ?? own.oneOf;
  if (choices !== undefined) return exampleOf(choose(choices, walk), name, walk);
  if (own.properties !== undefined) return objectOf(own, walk);
  const type = [own.type].flat()[0];
  if (type === "array") return arrayOf(own, name, walk);
  if (type === "object") return mapOf(own, walk);
  return scalarOf(own, name, type, walk.deviceB === true);
}

/** Null is a choice only where it is the only one; forms beyond the second are the first's. */
function choose(choices: readonly Schema[], { form }: Walk): Schema {
  const real = choices.filter(({ type }) => type !== "null");
  return real[form] ?? real[0] ?? { type: "null" };
}

function objectOf(schema: Schema, walk: Walk): object {
  const { properties = {}, required = [] } = schema;
  const inside = { ...walk, deviceB: walk.form === 1 || "statusLabel" in properties };
  const shown = Object.entries(properties).filter(
    ([name, inner]) => required.includes(name) || !walk.request || isUsual(name, inner),
  );
  return Object.fromEntries(shown.map(([name, inner]) => [name, exampleOf(inner, name, inside)]));
}

function isUsual(name: string, schema: Schema): boolean {
  const typed = schema.type !== undefined || schema.anyOf !== undefined || name === "location";
  return typed && !seldom.has(name) && (name in values || name in dictionary || name.endsWith("IntID"));
}

function arrayOf({ items, minItems = 1 }: Schema, name: string, walk: Walk): unknown[] {
  if (items === undefined || Object.keys(items).length === 0) return [];
  if (name === "") return [exampleOf(items, name, walk)];
  return Array.from({ length: Math.max(minItems, 1) }, () => exampleOf(items, name.replace(/s$/, ""), walk));
}

function mapOf({ additionalProperties }: Schema, walk: Walk): object {
  if (typeof additionalProperties !== "object") return {};
  return { temp: exampleOf(additionalProperties, "temp", walk) };
}

function scalarOf(schema: Schema, name: string, type: string | undefined, deviceB: boolean): unknown {
  const wanted = coded(name, deviceB) ?? values[name] ?? (/(At|Time)$/.test(name) ? stamp : undefined);
  if (schema.enum !== undefined) return schema.enum.includes(wanted) ? wanted : schema.enum[0];
  if (type === undefined) return wanted ?? null;
  if (wanted !== undefined && isOf(wanted, type)) return bounded(wanted, schema);
  return bounded(byType[type] ?? null, schema);
}

const byType: Readonly<Record<string, unknown>> = {
  integer: 1,
  number: 21.5,
  string: "text",
  boolean: true,
  null: null,
};

function isOf(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function bounded(value: unknown, { minimum, maximum }: Schema): unknown {
  if (typeof value !== "number") return value;
  return Math.min(Math.max(value, minimum ?? value), maximum ?? value);
}

type Labels = Readonly<Record<string, Readonly<Record<string, string>>>>;

const codesOfA: Labels = { ...dictionary, ...textDictionary };
const { deviceType, status } = dictionaryB;
const codesOfB: Labels = { ...codesOfA, deviceType, status };

/** The first code of an enumeration, or the label of that code. */
function coded(name: string, deviceB: boolean): unknown {
  const base = name.replace(/Label$/, "");
  const [first] = Object.entries((deviceB ? codesOfB : codesOfA)[base] ?? {});
  if (first === undefined) return undefined;
  const [code, label] = first;
  if (name !== base) return label;
  return /^\d+$/.test(code) ? Number(code) : code;
}
