import { isUtf8 } from "node:buffer";
import { parseExactNumber, toExactInteger } from "./exact-numbers.js";

/**
 * Reads CBOR (RFC 8949) as far as SenML needs it: numbers, texts, byte strings, booleans, arrays, maps, and decimal
 * fractions (tag 4), which RFC 8428 §6 allows for numbers. Maps become Map; other tags give what they enclose.
 */
interface Decoded {
  readonly value: unknown;
}

/** SenML nests two levels deep; extensions a little more. */
const depthMax = 16;

/** A byte string, as opposed to text. */
export class ByteString {
  constructor(readonly bytes: Buffer) {}
}

interface Reader {
  readonly buffer: Buffer;
  at: number;
  /** Items that may still come. */
  left: number;
}

/** Stands for bytes that are not well-formed; it is not a value of CBOR. */
const broken = Symbol("broken");
/** The byte that ends what came without a length. */
const breakMark = Symbol("break");

/** The one item that the bytes hold, or null if they are not well-formed or hold more. */
export function readCbor(buffer: Buffer): Decoded | null;
/** The same; "large" if with all that is within it comes to more than so many items. */
export function readCbor(buffer: Buffer, itemsMax: number): Decoded | "large" | null;
export function readCbor(buffer: Buffer, itemsMax = Number.POSITIVE_INFINITY): Decoded | "large" | null {
  const reader: Reader = { buffer, at: 0, left: itemsMax };
  const value = readItem(reader, 0);
  if (reader.left < 0) return "large";
  return value === broken || value === breakMark || reader.at !== buffer.length ? null : { value };
}

function readItem(reader: Reader, depth: number): unknown {
  if (reader.at >= reader.buffer.length || depth > depthMax || --reader.left < 0) return broken;
  const first = reader.buffer[reader.at++] as number;
  const major = first >> 5;
  const info = first & 31;
  if (major === 7) return readSimple(reader, info);
  if (info === indefinite) return readIndefinite(reader, major, depth);
  if (major < 2) return readWhole(reader, info, major === 1);
  const length = readLength(reader, info);
  if (length === null) return broken;
  return (readers[major - 2] as ReadMajor)(reader, length, depth);
}

const indefinite = 31;
const argumentBytes: Readonly<Record<number, number>> = { 24: 1, 25: 2, 26: 4, 27: 8 };

/** Beyond 2^53 the nearest double. */
function readLength(reader: Reader, info: number): number | null {
  if (info < 24) return info;
  const size = argumentBytes[info];
  if (size === undefined || reader.at + size > reader.buffer.length) return null;
  const from = reader.at;
  reader.at += size;
  return size < 8 ? reader.buffer.readUIntBE(from, size) : Number(reader.buffer.readBigUInt64BE(from));
}

/** A bigint if no double holds it. */
function readWhole(reader: Reader, info: number, isNegative: boolean): unknown {
  const from = reader.at;
  const size = readLength(reader, info);
  if (size === null) return broken;
  if (size < Number.MAX_SAFE_INTEGER) return isNegative ? -1 - size : size;
  const whole = reader.buffer.readBigUInt64BE(from);
  return toExactInteger(isNegative ? -1n - whole : whole);
}

type ReadMajor = (reader: Reader, length: number, depth: number) => unknown;

/** By major type, 2 to 6. */
const readers: readonly ReadMajor[] = [
  (reader, length) => {
    const part = slice(reader, length);
    return part === null ? broken : new ByteString(part);
  },
  (reader, length) => {
    const part = slice(reader, length);
    return part === null || !isUtf8(part) ? broken : part.toString("utf8");
  },
  readArray,
  readMap,
  readTagged,
];

function slice(reader: Reader, length: number): Buffer | null {
  if (length > reader.buffer.length - reader.at) return null;
  const from = reader.at;
  reader.at += length;
  return reader.buffer.subarray(from, reader.at);
}

function readArray(reader: Reader, length: number, depth: number): unknown {
  const items: unknown[] = [];
  // A false length is caught by the end of the bytes: each item takes at least one.
  for (let i = 0; i < length; i++) {
    const item = readItem(reader, depth + 1);
    if (item === broken) return broken;
    if (item === breakMark) return length === Number.POSITIVE_INFINITY ? items : broken;
    items.push(item);
  }
  return items;
}

function readMap(reader: Reader, length: number, depth: number): unknown {
  const map = new Map<unknown, unknown>();
  for (let i = 0; i < length; i++) {
    const key = readItem(reader, depth + 1);
    if (key === broken) return broken;
    if (key === breakMark) return length === Number.POSITIVE_INFINITY ? map : broken;
    const value = readItem(reader, depth + 1);
    if (value === broken || value === breakMark) return broken;
    // If two members have the same name, neither is right (RFC 8949 §5.6).
    if (map.has(key)) return broken;
    map.set(key, value);
  }
  return map;
}

const decimalFraction = 4;

function readTagged(reader: Reader, tag: number, depth: number): unknown {
  const value = readItem(reader, depth + 1);
  if (value === breakMark) return broken;
  if (tag !== decimalFraction || value === broken) return value;
  if (!Array.isArray(value) || value.length !== 2) return broken;
  const [exponent, mantissa] = value as unknown[];
  if (![exponent, mantissa].every((one) => typeof one === "bigint" || Number.isInteger(one))) return broken;
  return parseExactNumber(`${mantissa}e${exponent}`);
}

function readIndefinite(reader: Reader, major: number, depth: number): unknown {
  if (major === 4) return readArray(reader, Number.POSITIVE_INFINITY, depth);
  if (major === 5) return readMap(reader, Number.POSITIVE_INFINITY, depth);
  return major === 2 || major === 3 ? readChunks(reader, major) : broken;
}

/** Strings in pieces: each is of the same type and has a length. */
function readChunks(reader: Reader, major: number): unknown {
  const pieces: Buffer[] = [];
  for (;;) {
    const first = reader.buffer[reader.at++];
    if (first === 0xff) break;
    if (--reader.left < 0) return broken;
    if (first === undefined || first >> 5 !== major || (first & 31) === indefinite) return broken;
    const length = readLength(reader, first & 31);
    const piece = length === null ? null : slice(reader, length);
    if (piece === null || (major === 3 && !isUtf8(piece))) return broken;
    pieces.push(piece);
  }
  const whole = Buffer.concat(pieces);
  return major === 2 ? new ByteString(whole) : whole.toString("utf8");
}

const simples: ReadonlyMap<number, unknown> = new Map<number, unknown>([
  [20, false],
  [21, true],
  [22, null],
  [23, undefined],
  [indefinite, breakMark],
]);

function readSimple(reader: Reader, info: number): unknown {
  if (simples.has(info)) return simples.get(info);
  const { buffer } = reader;
  const size = argumentBytes[info];
  if (size === undefined) return info < 20 ? undefined : broken;
  if (reader.at + size > buffer.length) return broken;
  const from = reader.at;
  reader.at += size;
  if (size === 2) return halfFloat(buffer.readUInt16BE(from));
  if (size === 4) return buffer.readFloatBE(from);
  if (size === 8) return buffer.readDoubleBE(from);
  // A simple value below 32 must not take a second byte.
  return (buffer[from] as number) < 32 ? broken : undefined;
}

/** RFC 8949, appendix D. */
function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  const size =
    exponent === 0
      ? mantissa * 2 ** -24
      : exponent === 31
        ? mantissa === 0
          ? Number.POSITIVE_INFINITY
          : Number.NaN
        : (mantissa + 1024) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}
