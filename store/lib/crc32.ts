import * as zlib from "node:zlib";

/**
 * CRC-32 (ISO 3309), reflected polynomial 0xedb88320. zlib computes it in native code where Node has it (20.15 and
 * later).
 */
const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** The checksum of `bytes` as an unsigned 32-bit integer; `before` is the checksum of the bytes before them. */
export function crc32ByTable(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (let at = 0; at < bytes.length; at++) {
    crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] as number)) & 0xff] as number);
  }
  return ~crc >>> 0;
}

export const crc32: typeof crc32ByTable =
  (zlib as { readonly crc32?: typeof crc32ByTable }).crc32 ?? crc32ByTable;
