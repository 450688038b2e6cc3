import { isUtf8 } from "node:buffer";
import { tooManyParts } from "../../../clients/json-message.js";
import { bareJson } from "../../../decode/bare-json.js";
import { scanFlat } from "../../../decode/flat-json.js";
import { isWithinJsonBounds } from "../../../decode/json-bounds.js";
import { faultText, findJsonFault } from "../../../decode/json-fault.js";
import { payloadBytesMax } from "../../../uplinks/accept.js";
import { failureAnswer, noContent, refusals, type UplinkAnswer } from "../requests/answers.js";
import type { DeviceRequest } from "../requests/device-request.js";
import { badID, parseMessageID } from "../requests/message-id.js";
import { firstMessage, messageAnswer, waitSeconds } from "./inbox.js";

/** POST /api/v1/uplinks/{topic…}: one message. 204 says that it is on disk. */
export async function takeUplink(request: DeviceRequest, topic: string): Promise<UplinkAnswer | undefined> {
  const { client, headers, ip } = request;
  const waitS = waitSeconds(request.query);
  if (typeof waitS !== "number") return waitS;
  const key = parseMessageID(headers["message-id"]);
  if (key === undefined) return badID("Message-Id");
  const body = await request.body(payloadBytesMax);
  if (body === undefined || "status" in body) return body;
  try {
    const wrong = isJson(headers["content-type"]) ? findPayloadFault(body.bytes) : null;
    if (wrong === "empty") return noContent;
    if (wrong !== null) return wrong;
    const message = { topic, payload: body.bytes, key, sentAt: null, batch: null };
    const outcome = await client.publish(message, ip);
    if (outcome !== "kept" && outcome !== "repeated") return refusals[outcome];
  } finally {
    body.release();
  }
  if (request.query.has("wait")) return messageAnswer(await firstMessage(request, waitS));
  return noContent;
}

function isJson(type: string | undefined): boolean {
  return type !== undefined && /^application\/json\s*(;|$)/i.test(type);
}

/** Null for JSON of a shape that points are read from; "empty": an array without anything in it. */
function findPayloadFault(received: Buffer): UplinkAnswer | "empty" | null {
  const payload = bareJson(received);
  if (scanFlat(payload) >= 0) return null;
  const text = isUtf8(payload) ? payload.toString("utf8") : null;
  if (text !== null && !isWithinJsonBounds(text))
    return failureAnswer(422, "FORMAT_INVALID", `the JSON ${tooManyParts}`);
  const parsed = text === null ? undefined : parse(text);
  if (parsed === undefined) return failureAnswer(400, "BAD_REQUEST", notJson(received));
  if (Array.isArray(parsed) && parsed.length === 0) return "empty";
  const entries: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const isSound = entries.every((one) => typeof one === "object" && one !== null && !Array.isArray(one));
  return isSound
    ? null
    : failureAnswer(422, "FORMAT_INVALID", "the JSON is no object and no array of objects");
}

function notJson(body: Buffer): string {
  const fault = findJsonFault(body);
  return `the body is not JSON in UTF-8${fault === null ? "" : `: ${faultText(fault)}`}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
