/** Payloads as the API shows them: text, or `base64:` and base64 for what is no text. */

const prefix = "base64:";

export function decodePayload(payload: string): Uint8Array {
  if (!payload.startsWith(prefix)) return new TextEncoder().encode(payload);
  try {
    return Uint8Array.from(atob(payload.slice(prefix.length)), (char) => char.charCodeAt(0));
  } catch {
    // A text that only begins like that.
    return new TextEncoder().encode(payload);
  }
}

/** JSON with its lines; anything else as it came. */
export function formatted(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}

/** Bytes written as `41 ac 00 00`; null for what is none. */
export function bytesOfHex(text: string): Uint8Array | null {
  const digits = text.replaceAll(/[\s,:]|0x/gi, "");
  if (digits === "" || digits.length % 2 !== 0 || !/^[\da-f]+$/i.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function encodeBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
