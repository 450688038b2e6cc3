/** Messages that came as JSON, a line or a frame each: parsed once, and kept digit for digit. */

import { parseExactNumber } from "../decode/exact-numbers.js";
import { isWithinJsonBounds, jsonLevelsMax, jsonPartsMax } from "../decode/json-bounds.js";
import { faultText, findJsonFault } from "../decode/json-fault.js";
import { rawMember } from "../decode/raw-member.js";
import { decodePayload } from "./payloads.js";

type Members = Readonly<Record<string, unknown>>;

export const tooManyParts = `has more than ${jsonPartsMax} values or ${jsonLevelsMax} levels`;

/** A text says why it is none. */
export function membersOfJson(text: string): Members | string {
  if (!isWithinJsonBounds(text)) return tooManyParts;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return notJson(text);
  }
  return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)
    ? (parsed as Members)
    : "is no object";
}

/** Where it breaks: in a text of one line, as those of a batch are, the column says it. */
function notJson(text: string): string {
  const fault = findJsonFault(Buffer.from(text));
  if (fault === null) return "is not JSON";
  return `is not JSON: ${text.includes("\n") ? faultText(fault) : `column ${fault.column}: ${fault.why}`}`;
}

/** The payload of a message that `membersOfJson` has read from this text; a text says why there is none. */
export function payloadOfJson(text: string, members: Members): Buffer | string {
  const { payload, base64 } = members;
  if (typeof payload === "object" && base64 === undefined) {
    const raw = rawMember(text, "payload");
    if (raw !== null) return Buffer.from(raw);
  }
  return decodePayload({ payload: exactMember(text, members, "payload"), base64 });
}

/** A member's value; of a number that a double may not hold the one that stands there. */
export function exactMember(text: string, members: Members, name: string): unknown {
  const value = members[name];
  if (typeof value !== "number" || Math.abs(value) < 2 ** 53) return value;
  const raw = rawMember(text, name);
  return raw === null ? value : parseExactNumber(raw);
}
