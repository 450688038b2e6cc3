import { toDataView } from "./data-view.js";

/**
 * CRC-32C (Castagnoli, RFC 3720 B.4), reflected polynomial 0x82f63b78, eight bytes a step ("slicing by 8": Kounavis and
 * Berry, A Systematic Approach to Building High Performance Software-based CRC Generators, 2005).
 */
const polynomial = 0x82f63b78;
/** Eight tables of 256 entries: the n-th is for a byte followed by n further bytes. */
const tables = new Int32Array(8 * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  tables[byte] = crc;
}
for (let at = 256; at < tables.length; at++) {
  const crc = tables[at - 256] as number;
  tables[at] = (crc >>> 8) ^ (tables[crc & 0xff] as number);
}

/** The checksum of `bytes[from, to)` as an unsigned 32-bit integer; `seed` is the checksum of the bytes before them. */
export function crc32c(bytes: Uint8Array, from = 0, to = bytes.length, seed = 0): number {
  const t = tables;
  const view = toDataView(bytes);
  let crc = ~seed;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    crc =
      (t[1792 + (low & 0xff)] as number) ^
      (t[1536 + ((low >>> 8) & 0xff)] as number) ^
      (t[1280 + ((low >>> 16) & 0xff)] as number) ^
      (t[1024 + (low >>> 24)] as number) ^
      (t[768 + (high & 0xff)] as number) ^
      (t[512 + ((high >>> 8) & 0xff)] as number) ^
      (t[256 + ((high >>> 16) & 0xff)] as number) ^
      (t[high >>> 24] as number);
  }
  for (; at < to; at++) {
    crc = (crc >>> 8) ^ (t[(crc ^ (bytes[at] as number)) & 0xff] as number);
  }
  return ~crc >>> 0;
}
