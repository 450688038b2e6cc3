import { writeJson } from "../decode/exact-numbers.js";

/** Members of a message that came as JSON or CBOR. */
type Members = Readonly<Record<string, unknown>>;

/**
 * The bytes of a payload: of a text its characters, of a byte string (in JSON: `base64`) its bytes, of anything else
 * JSON. A text says why there is none.
 */
export function decodePayload({ payload, base64 }: Members): Buffer | string {
  if (base64 !== undefined) {
    if (payload !== undefined) return "payload and base64 are one too many";
    if (typeof base64 !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return "base64 cannot be read";
    return Buffer.from(base64, "base64");
  }
  if (payload === undefined) return "payload is required";
  if (payload instanceof Uint8Array) return Buffer.from(payload);
  if (typeof payload === "string") return Buffer.from(payload);
  if (typeof payload === "object" && payload !== null)
    return Buffer.from(writeJson(textual(payload) as object));
  return Buffer.from(String(payload));
}

/** JSON has no byte strings: within it they are base64. */
function textual(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(textual);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, textual(one)]));
}
