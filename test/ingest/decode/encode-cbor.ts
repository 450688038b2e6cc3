/** Writes CBOR for tests: numbers as the shortest form that holds them, Map with any keys, Uint8Array as bytes. */
export function encodeCbor(value: unknown): Buffer {
  if (typeof value === "number") return encodeNumber(value);
  if (typeof value === "bigint") return encodeWhole(value);
  if (typeof value === "string") return withHead(3, Buffer.from(value));
  if (value instanceof Uint8Array) return withHead(2, value);
  if (value === false || value === true) return Buffer.of(value ? 0xf5 : 0xf4);
  if (value === null) return Buffer.of(0xf6);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)]);
  const entries = value instanceof Map ? [...value] : Object.entries(value as object);
  return Buffer.concat([head(5, entries.length), ...entries.flat().map(encodeCbor)]);
}

function encodeNumber(value: number): Buffer {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    return value >= 0 ? head(0, value) : head(1, -1 - value);
  }
  const bytes = Buffer.alloc(9);
  bytes[0] = 0xfb;
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

/** In eight bytes, whatever its size. */
function encodeWhole(value: bigint): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = value < 0n ? 0x3b : 0x1b;
  bytes.writeBigUInt64BE(value < 0n ? -1n - value : value, 1);
  return bytes;
}

const withHead = (major: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([head(major, bytes.length), bytes]);

function head(major: number, length: number): Buffer {
  const first = major << 5;
  if (length < 24) return Buffer.of(first | length);
  const [info, size] =
    length < 256 ? [24, 1] : length < 65_536 ? [25, 2] : length < 2 ** 32 ? [26, 4] : [27, 8];
  const bytes = Buffer.alloc(1 + size);
  bytes[0] = first | info;
  if (size === 8) bytes.writeBigUInt64BE(BigInt(length), 1);
  else bytes.writeUIntBE(length, 1, size);
  return bytes;
}
