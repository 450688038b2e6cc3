import { isUtf8 } from "node:buffer";
import { containsText } from "../http/text-search.js";

/** The text if it is valid UTF-8 without NUL, else `base64:` and base64. */
export function payloadText(payload: Uint8Array): string {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString("utf8") : `base64:${bytes.toString("base64")}`;
}

/** Whether a payload, as it is shown, contains the text, ignoring case, or equals it. */
export function payloadContains(payload: Uint8Array, like: boolean, value: string): boolean {
  const text = payloadText(payload);
  return like ? containsText(text, value) : text === value;
}
