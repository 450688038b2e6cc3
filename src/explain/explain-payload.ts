/** Explains a payload: the form, its points, the refused values and how to fix them. */

import { writeJson } from "../../ingest/decode/exact-numbers.js";
import { type Explained, explainMessage, type FormName, type Refused } from "../../ingest/decode/explain.js";
import { faultText, findJsonFault, type JsonFault } from "../../ingest/decode/json-fault.js";
import type { DecodableMessage, DecodeRules } from "../../ingest/decode/points.js";
import { nearestName } from "../../ingest/decode/suggest.js";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { toShownValue } from "../../query/newest.js";
import { createSlice } from "../../store/lib/scheduling.js";
import { explainedReasons } from "./reason-texts.js";
import { isTimeKey } from "./time-keys.js";

/** Points, refusals and unknown keys that an answer shows of one message. */
const pointsShownMax = 1_000;
const refusedShownMax = 1_000;
const unknownKeysMax = 20;
const valueCharactersMax = 200;
const keyCharactersMax = 64;

export async function explainPayload(
  device: DeviceEntry,
  message: DecodableMessage,
  rules: Omit<DecodeRules, "asOfReceipt">,
) {
  const explained = explainMessage(device, message, rules);
  const { points, refused, fields } = explained;
  const fault = explained.form === null ? findJsonFault(message.payload) : null;
  const timeKeys = listTimeKeys(refused, message, rules);
  return {
    form: formShown(explained, message, fault),
    isDiscarded: explained.isDiscarded,
    points: pointsShown(device, explained),
    refused: refused
      .slice(0, refusedShownMax)
      .map((one) => refusedShown(one, explainRefusal(one, fault, timeKeys, message))),
    isTruncated: points.length > pointsShownMax || refused.length > refusedShownMax,
    unknownKeys: await unknownKeys(device, message, refused, timeKeys),
    binary:
      fields?.map(({ dataPointID, fromBit, toBit }) => ({
        dataPointID,
        from: fromBit >> 3,
        to: (toBit + 7) >> 3,
        fromBit,
        toBit,
      })) ?? null,
  };
}

function formShown(
  { form, isEnvelope }: Explained,
  { payload, topic, isEntry }: DecodableMessage,
  fault: JsonFault | null,
) {
  const first = payload[0];
  const begins =
    first === undefined ? "it is empty" : `its first byte is 0x${first.toString(16).padStart(2, "0")}`;
  const why: Readonly<Record<FormName, string>> = {
    binary: `no binary data stream of the product carries messages up on the topic ${JSON.stringify(topic)}`,
    cbor: `CBOR begins with a byte from 0x80 to 0xbf, or 0xd9: ${begins}`,
    senml: "a SenML pack is an array whose first record has a base name (bn), or a name (n) and a value",
    json: form === "senml" ? "the array is a SenML pack" : notJson(fault),
  };
  const before: Readonly<Record<FormName | "none", readonly FormName[]>> = {
    binary: [],
    cbor: ["binary"],
    senml: ["binary", "cbor", "json"],
    json: ["binary", "cbor", "senml"],
    none: ["binary", "cbor", "senml", "json"],
  };
  return {
    taken: form,
    isEnvelope,
    isEntry: isEntry === true,
    fault,
    others: before[form ?? "none"].map((one) => ({ form: one, why: why[one] })),
  };
}

function notJson(fault: JsonFault | null): string {
  return fault === null ? "it is not JSON in UTF-8" : `it is not JSON in UTF-8: ${faultText(fault)}`;
}

/** What mends it: for the payload where it breaks, for a time the name that counts, for the rest the reason's text. */
function explainRefusal(
  { reason, key }: Refused,
  fault: JsonFault | null,
  timeKeys: ReadonlySet<string>,
  message: DecodableMessage,
): string {
  if (reason === "format" && fault !== null) return `${explainedReasons.format} At ${faultText(fault)}.`;
  if (reason !== "unknown" || key === undefined || !timeKeys.has(key)) return explainedReasons[reason];
  return `It is perhaps a time. A time counts under the name ${timeNameFor(message)}: give the key that name.`;
}

function pointsShown(device: DeviceEntry, { points, fields }: Explained) {
  const types = new Map([...device.product.points.values()].map((point) => [point.id, point]));
  const places = new Map(fields?.map((field) => [field.dataPointID, field]));
  return points.slice(0, pointsShownMax).flatMap(({ series, value, time }) => {
    const point = types.get(series.dataPointIntID);
    if (point === undefined) return [];
    const { dataPointID, pointDataType } = point;
    const place = places.get(dataPointID);
    const stored = typeof value === "boolean" ? Number(value) : value;
    return {
      dataPointID,
      dataPointIntID: point.id,
      value: toShownValue(pointDataType, stored),
      time: time / 1000,
      from:
        place === undefined
          ? { key: dataPointID }
          : { fromByte: place.fromBit >> 3, toByte: (place.toBit + 7) >> 3 },
    };
  });
}

function refusedShown({ reason, count, key, value }: Refused, text: string) {
  return {
    key: key === undefined ? null : shortened(key, keyCharactersMax),
    value: value === undefined ? null : shortened(valueText(value), valueCharactersMax),
    reason,
    count,
    text,
  };
}

const shortened = (text: string, most: number): string => text.slice(0, most).toWellFormed();

function valueText(value: unknown): string {
  if (typeof value !== "object" || value === null) return typeof value === "string" ? value : String(value);
  if (value instanceof Uint8Array)
    return Buffer.from(value.subarray(0, valueCharactersMax)).toString("base64");
  try {
    return writeJson(value);
  } catch {
    return "a value that is nested too deeply to be shown";
  }
}

/** Keys that are no data point and perhaps hold the message's time under another name than counts. */
function listTimeKeys(
  refused: readonly Refused[],
  { receivedAt }: DecodableMessage,
  { local }: Pick<DecodeRules, "local">,
): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { reason, key, value } of refused.slice(0, refusedShownMax)) {
    if (reason === "unknown" && key !== undefined && isTimeKey(key, value, local, receivedAt)) keys.add(key);
  }
  return keys;
}

const timeNameFor = ({ isEntry }: DecodableMessage): string => (isEntry === true ? "TimeStamp" : "time");

/** Each key once, with the data point that was perhaps meant; one that the topic's stream leaves out is itself. */
async function unknownKeys(
  device: DeviceEntry,
  message: DecodableMessage,
  refused: readonly Refused[],
  timeKeys: ReadonlySet<string>,
) {
  const keys = new Set<string>();
  for (const { reason, key } of refused.slice(0, refusedShownMax)) {
    if (reason === "unknown" && key !== undefined) keys.add(key);
    if (keys.size === unknownKeysMax) break;
  }
  const slice = createSlice();
  const shownKeys: { key: string; suggestion: string | null; isInProduct: boolean }[] = [];
  const { points, streams } = device.product;
  const known = streams.get(message.topic)?.points ?? points;
  for (const key of keys) {
    const isInProduct = points.has(key);
    const isLong = key.length > 2 * keyCharactersMax;
    const name = timeKeys.has(key) ? timeNameFor(message) : null;
    const suggestion = isInProduct || isLong ? null : (name ?? nearestName(key, known.keys()));
    shownKeys.push({ key: shortened(key, keyCharactersMax), suggestion, isInProduct });
    if (slice.isOver()) await slice.next();
  }
  return shownKeys;
}
