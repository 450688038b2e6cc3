import { endOfText } from "./json-bounds.js";

const [quote, backslash, colon, space] = [0x22, 0x5c, 0x3a, 0x20];
/** Deeper nothing is read: what is nested so is no value. */
const levels = 64;

/**
 * How many members of JSON objects JSON.parse has dropped, because a later one of the same object has their name
 * (RFC 8259 §4).
 * @param payload what was parsed, in UTF-8
 */
export function countRepeatedNames(payload: Buffer, parsed: unknown): number {
  const names = namesIn(parsed, levels);
  if (countMostMembers(payload) <= names) return 0;
  return Math.max(0, membersIn(payload.toString("utf8")) - names);
}

/** Infinite if the value is nested too deeply. */
function namesIn(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth === 0) return Number.POSITIVE_INFINITY;
  let names = 0;
  if (Array.isArray(value)) {
    for (const one of value) if (typeof one === "object") names += namesIn(one, depth - 1);
    return names;
  }
  for (const key in value) {
    names++;
    const one = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof one === "object") names += namesIn(one, depth - 1);
  }
  return names;
}

/**
 * The colons that follow a quote: those of members, and of texts that begin with one. Infinite where a member's colon
 * may follow something else.
 */
function countMostMembers(payload: Uint8Array): number {
  let members = 0;
  for (let at = 2; at < payload.length; at++) {
    if (payload[at] !== colon) continue;
    const before = payload[at - 1] as number;
    if (before === quote && payload[at - 2] !== backslash) members++;
    else if (before === quote || before <= space) return Number.POSITIVE_INFINITY;
  }
  return members;
}

function membersIn(json: string): number {
  let members = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfText(json, at);
    else if (code === colon) members++;
  }
  return members;
}
