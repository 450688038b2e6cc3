import { isUtf8 } from "node:buffer";
import { toExactInteger } from "./exact-numbers.js";
import type { Reason } from "./reasons.js";

/** What a binary stream needs to know of a data point. */
export interface BinaryPoint {
  readonly dataPointID: string;
  readonly pointDataType: number;
  /** Bytes, or bits of type 19; null: the type's own. */
  readonly binarySize: number | null;
}

/**
 * One field of a payload. `bits` is its length, null if two bytes before it give the length in bytes; bytes
 * begin at the next whole byte. `read` is given the first bit of the field and its length in bits.
 */
interface Field {
  readonly key: string;
  readonly bits: number | null;
  readonly whole: boolean;
  read(payload: Buffer, from: number, bits: number): unknown;
}

/** How the bytes of a stream are read: its data points in order, big endian. */
export interface BinaryLayout {
  readonly fields: readonly Field[];
  /** A buffer for the values of one payload, used again for each. */
  readonly values: unknown[];
}

type Read = Field["read"];
type Form = (size: number | null) => Pick<Field, "bits" | "read"> | null;

const bytes = (count: number, read: Read) => ({ bits: count * 8, read });
const withLength = (read: Read) => ({ bits: null, read });
const at = (from: number): number => from >> 3;

const readUnsigned: Read = (payload, from, bits) =>
  bits <= 48 ? payload.readUIntBE(at(from), bits >> 3) : readBits(payload, from, bits);

const readSigned: Read = (payload, from, bits) => {
  if (bits <= 48) return payload.readIntBE(at(from), bits >> 3);
  return toExactInteger(BigInt.asIntN(bits, BigInt(readBits(payload, from, bits))));
};

const readFloat: Read = (payload, from, bits) =>
  bits === 32 ? payload.readFloatBE(at(from)) : payload.readDoubleBE(at(from));

const readBytes: Read = (payload, from, bits) => payload.subarray(at(from), at(from + bits));

/** Undefined, which no data point accepts, if the bytes are not UTF-8. A text of fixed length is padded with NUL. */
const readText: Read = (payload, from, bits) => {
  const part = payload.subarray(at(from), at(from + bits));
  return isUtf8(part) ? part.toString("utf8") : undefined;
};
const readPaddedText: Read = (payload, from, bits) => {
  let end = at(from + bits);
  while (end > at(from) && payload[end - 1] === 0) end--;
  return readText(payload, from, end * 8 - from);
};

/** By the bytes of a location: the bits of each of its numbers. */
const bitsOfLocationPart: ReadonlyMap<number, number> = new Map([
  [8, 32],
  [12, 32],
  [16, 64],
  [24, 64],
]);

/** Longitude, latitude and, with three numbers, altitude. */
const location: Form = (size) => {
  const each = bitsOfLocationPart.get(size ?? 16);
  if (each === undefined) return null;
  return bytes(size ?? 16, (payload, from, bits) =>
    Array.from({ length: bits / each }, (_, i) => readFloat(payload, from + i * each, each)),
  );
};

const integer =
  (read: Read, otherwise: number): Form =>
  (size) => {
    const count = size ?? otherwise;
    return count >= 1 && count <= 8 ? bytes(count, read) : null;
  };

const float =
  (otherwise: number): Form =>
  (size) => {
    const count = size ?? otherwise;
    return count === 4 || count === 8 ? bytes(count, readFloat) : null;
  };

const fixed =
  (read: Read): Form =>
  (size) =>
    size === null || size < 1 ? null : bytes(size, read);

const variable =
  (read: Read): Form =>
  () =>
    withLength(read);

/** A text has a fixed length if it has a size, otherwise a length before it. */
const text: Form = (size) => (size === null || size < 1 ? withLength(readText) : bytes(size, readPaddedText));

const bits: Form = (size) => {
  const count = size ?? 1;
  return count >= 1 && count <= 64 ? { bits: count, read: readBits } : null;
};

/** One bit of a Modbus register of two bytes; binarySize is its position from the low end. */
const registerBit: Form = (size) => {
  const position = size ?? 0;
  if (position > 15) return null;
  return bytes(2, (payload, from) => ((payload.readUInt16BE(at(from)) >> position) & 1) === 1);
};

/** pointDataType of the interface → its binary form. */
const forms: ReadonlyMap<number, Form> = new Map<number, Form>([
  [1, float(8)],
  [3, text],
  [4, text],
  [5, () => bytes(1, (payload, from) => payload[at(from)] !== 0)],
  [6, location],
  [11, fixed(readPaddedText)],
  [12, variable(readText)],
  [13, fixed(readBytes)],
  [14, variable(readBytes)],
  [15, integer(readSigned, 4)],
  [16, integer(readUnsigned, 4)],
  [17, () => bytes(4, readFloat)],
  [18, () => bytes(8, readFloat)],
  [19, bits],
  [21, integer(readSigned, 4)],
  [22, integer(readUnsigned, 4)],
  [23, registerBit],
  [24, integer(readUnsigned, 8)],
  [25, float(4)],
]);

const bitType = 19;

/** The layout of a stream, or null if one of its data points has no binary form of its size. */
export function createLayout(points: readonly BinaryPoint[]): BinaryLayout | null {
  const fields: Field[] = [];
  for (const { dataPointID: key, pointDataType, binarySize } of points) {
    const form = forms.get(pointDataType)?.(binarySize);
    if (!form) return null;
    fields.push({ key, whole: pointDataType !== bitType, ...form });
  }
  return { fields, values: new Array(fields.length) };
}

/**
 * Passes every value to `take`, or passes none and returns the reason: "length" if the payload is too short or long.
 * `place` receives each field that is present: its first bit, with the length before it if there is one, and the bit
 * after it.
 */
export function readBinary(
  { fields, values }: BinaryLayout,
  payload: Buffer,
  take: (key: string, value: unknown) => void,
  place?: (key: string, from: number, to: number) => void,
): Reason | null {
  const end = payload.length * 8;
  let from = 0;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as Field;
    if (field.whole) from = (from + 7) & ~7;
    const begin = from;
    let count = field.bits;
    if (count === null) {
      if (from + 16 > end) return "length";
      count = payload.readUInt16BE(from >> 3) * 8;
      from += 16;
    }
    if (from + count > end) return "length";
    values[i] = field.read(payload, from, count);
    from += count;
    place?.(field.key, begin, from);
  }
  if (end - from >= 8) return "length";
  for (let i = 0; i < fields.length; i++) take((fields[i] as Field).key, values[i]);
  return null;
}

/**
 * A big-endian whole number of 1 to 64 bits that begins at bit `from`; the highest bit of a byte is its first.
 * A number that no double holds becomes a bigint.
 */
function readBits(payload: Uint8Array, from: number, count: number): number | bigint {
  if (count <= 53) return Number(gather(payload, from, count));
  const high = count - 32;
  const value =
    BigInt(gather(payload, from, high)) * 4_294_967_296n + BigInt(gather(payload, from + high, 32));
  return toExactInteger(value);
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
