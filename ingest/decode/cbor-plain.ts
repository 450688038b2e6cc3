import { ByteString } from "./cbor.js";

/**
 * What CBOR has, as JSON would have it: maps are objects, byte strings what `ofBytes` makes of them, no
 * value is null. Null for a map with a
 * key that is neither a text nor a number, or that stands for the same name as another.
 */
export function toPlain(value: unknown, ofBytes: (bytes: Buffer) => unknown = asTheyAre): unknown {
  if (value instanceof ByteString) return ofBytes(value.bytes);
  if (Array.isArray(value)) return value.map((one) => toPlain(one, ofBytes));
  return value instanceof Map ? toPlainObject(value, ofBytes) : (value ?? null);
}

const asTheyAre = (bytes: Buffer): Buffer => bytes;

function toPlainObject(
  map: ReadonlyMap<unknown, unknown>,
  ofBytes: (bytes: Buffer) => unknown,
): Record<string, unknown> | null {
  const object = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of map) {
    if (!["string", "number", "bigint"].includes(typeof key)) return null;
    const name = String(key);
    if (name in object) return null;
    object[name] = toPlain(value, ofBytes);
  }
  return object;
}
