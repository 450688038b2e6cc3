const nul = 0x00;

/**
 * JSON without what tools put around it: a byte order mark before it, and the NUL that ends a text of C. The event
 * keeps the payload as it came. The same buffer if there is neither.
 */
export function bareJson(payload: Buffer): Buffer {
  let end = payload.length;
  while (end > 0 && payload[end - 1] === nul) end--;
  const from = startOfJson(payload);
  return from === 0 && end === payload.length ? payload : payload.subarray(from, Math.max(from, end));
}

/** Where the text begins: behind a byte order mark in UTF-8. */
export function startOfJson(payload: Uint8Array): number {
  return payload[0] === 0xef && payload[1] === 0xbb && payload[2] === 0xbf ? 3 : 0;
}
