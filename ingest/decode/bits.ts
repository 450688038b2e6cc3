import { wholeOf } from "./whole.js";

/**
 * A big-endian whole number of 1 to 64 bits that begins at bit `from`, the highest bit of a byte being its first.
 * What no double holds is a bigint.
 */
export function readBits(payload: Uint8Array, from: number, count: number): number | bigint {
  if (count <= 53) return Number(gather(payload, from, count));
  const high = count - 32;
  const value =
    BigInt(gather(payload, from, high)) * 4_294_967_296n + BigInt(gather(payload, from + high, 32));
  return wholeOf(value);
}

/** At most 53 bits. */
function gather(payload: Uint8Array, from: number, count: number): number {
  let value = 0;
  for (let at = from, left = count; left > 0; ) {
    const room = 8 - (at & 7);
    const take = Math.min(room, left);
    const byte = payload[at >> 3] ?? 0;
    value = value * 2 ** take + ((byte >> (room - take)) & ((1 << take) - 1));
    at += take;
    left -= take;
  }
  return value;
}
