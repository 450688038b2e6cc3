/**
 * JSON without what tools put around it: a byte order mark before it, and the NUL that ends a text of C, with
 * the white space at its end. The event keeps the payload as it came. The same buffer if there is nothing of these.
 */
export function bareJson(payload: Buffer): Buffer {
  let end = payload.length;
  while (end > 0 && isEnding(payload[end - 1] as number)) end--;
  const from = startOfJson(payload);
  return from === 0 && end === payload.length ? payload : payload.subarray(from, Math.max(from, end));
}

/** NUL, and the white space of JSON. */
function isEnding(byte: number): boolean {
  return byte === 0x00 || byte === 0x0a || byte === 0x0d || byte === 0x20 || byte === 0x09;
}

/** Where the text begins: behind a byte order mark in UTF-8. */
export function startOfJson(payload: Uint8Array): number {
  return payload[0] === 0xef && payload[1] === 0xbb && payload[2] === 0xbf ? 3 : 0;
}
