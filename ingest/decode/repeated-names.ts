import { endOfText } from "./json-bounds.js";

/**
 * How many members of JSON objects JSON.parse has dropped, because a later one of the same object has their name
 * (RFC 8259 §4). Only those that may be values: of objects nested deeper nothing is read.
 */
export function countRepeatedNames(json: string, parsed: unknown): number {
  const names = namesIn(parsed, levels);
  let colons = 0;
  for (let at = 0; at < json.length; at++) if (json.charCodeAt(at) === colon) colons++;
  // Each member has a colon; texts may have others.
  return colons === names ? 0 : membersIn(json) - names;
}

/** Telemetry, its entries, their values, and the value form. */
const levels = 5;

const [quote, colon] = [0x22, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

function namesIn(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null || depth === 0) return 0;
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

/** Members as they are written, as deep as `namesIn` counts them. */
function membersIn(json: string): number {
  let [members, depth] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfText(json, at);
    else if (code === colon) members += depth <= levels ? 1 : 0;
    else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
  }
  return members;
}
