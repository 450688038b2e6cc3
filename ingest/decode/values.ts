import type { Reason } from "./reasons.js";
import { type LocalTime, readTime } from "./time.js";

/** The value to store, or why there is none. */
export type Converted =
  | { readonly value: number | boolean | string; readonly rounded?: boolean }
  | { readonly reason: Reason };

export type Converter = (value: unknown, local: LocalTime) => Converted;

/** InfluxDB's bound of a string field; the same on both engines. */
export const textBytesMax = 65_535;

const refusedType: Converted = { reason: "type" };
const refusedNumber: Converted = { reason: "number" };

function toNumber(value: unknown): Converted {
  const number = typeof value === "string" ? fromNumberText(value) : value;
  if (typeof number === "bigint") return { value: Number(number), rounded: true };
  if (typeof number !== "number") return typeof value === "string" ? refusedNumber : refusedType;
  if (!Number.isFinite(number)) return refusedNumber;
  return Math.abs(number) > Number.MAX_SAFE_INTEGER && isRounded(value, number)
    ? { value: number, rounded: true }
    : { value: number };
}

/** Each character is tried once: `\d+\.?\d*` would take a minute to refuse 200,000 digits and a letter. */
const numberForm = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

function fromNumberText(text: string): number | null {
  const trimmed = text.trim();
  return numberForm.test(trimmed) ? Number(trimmed) : null;
}

/** Whole numbers beyond 2^53 are no longer distinct; 2^53 itself is exact when written as such. */
function isRounded(value: unknown, number: number): boolean {
  if (typeof value === "string" && /^\s*[+-]?\d+\s*$/.test(value)) {
    return BigInt(value.trim().replace("+", "")) !== BigInt(number) || Math.abs(number) > 2 ** 53;
  }
  return Math.abs(number) > 2 ** 53;
}

function toInteger(value: unknown): Converted {
  const number = toNumber(value);
  if ("value" in number && !Number.isInteger(number.value)) return refusedNumber;
  return number;
}

const booleans = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ["true", true],
  ["false", false],
  ["1", true],
  ["0", false],
]);

function toBoolean(value: unknown): Converted {
  const found = booleans.get(typeof value === "string" ? value.trim().toLowerCase() : value);
  return found === undefined ? refusedType : { value: found };
}

function toText(value: unknown): Converted {
  if (typeof value === "bigint") return { value: String(value) };
  if (typeof value === "number") return Number.isFinite(value) ? { value: String(value) } : refusedNumber;
  return typeof value === "string" ? bounded(value.toWellFormed()) : refusedType;
}

function bounded(text: string): Converted {
  const tooLong = text.length > textBytesMax / 3 && Buffer.byteLength(text) > textBytesMax;
  return tooLong ? { reason: "size" } : { value: text };
}

/** Base64 text, or the bytes themselves. */
function toBase64(value: unknown): Converted {
  if (value instanceof Uint8Array)
    return bounded(Buffer.from(value.buffer, value.byteOffset, value.length).toString("base64"));
  if (typeof value !== "string") return refusedType;
  const canonical = Buffer.from(value, "base64").toString("base64");
  return unpadded(value.trim()) === unpadded(canonical) ? bounded(canonical) : refusedType;
}

function unpadded(base64: string): string {
  return base64.slice(0, base64.endsWith("==") ? -2 : base64.endsWith("=") ? -1 : undefined);
}

/** Milliseconds since 1970. */
function toTime(value: unknown, local: LocalTime): Converted {
  const micros = readTime(value, local);
  return micros === null ? { reason: "type" } : { value: micros / 1000 };
}

/** `[longitude, latitude]` or `[longitude, latitude, altitude]` as JSON text; degrees (WGS 84) and metres. */
function toPlace(value: unknown): Converted {
  const parts = Array.isArray(value) ? value : parseLocation(value);
  if (parts === null || parts.length < 2 || parts.length > 3) return refusedType;
  const numbers = parts.map(toNumber).map((part) => ("value" in part ? Number(part.value) : Number.NaN));
  const [longitude = Number.NaN, latitude = Number.NaN] = numbers;
  if (numbers.some(Number.isNaN)) return refusedType;
  if (Math.abs(longitude) > 180 || Math.abs(latitude) > 90) return refusedNumber;
  return { value: JSON.stringify(numbers) };
}

/** The members of a place that is an object. */
export const placeNames: ReadonlySet<string> = new Set(["longitude", "latitude", "altitude"]);

function parseLocation(value: unknown): unknown[] | null {
  if (typeof value !== "object" || value === null) return null;
  const { longitude, latitude, altitude } = value as Record<string, unknown>;
  return altitude === undefined || altitude === null
    ? [longitude, latitude]
    : [longitude, latitude, altitude];
}

/** Whether a finite number within ±2^53 is its own value, so that no converter need look at it. */
export function takesNumbers(pointDataType: number): boolean {
  return converters.get(pointDataType) === toNumber;
}

/** pointDataType of the interface → converter. */
export const converters: ReadonlyMap<number, Converter> = new Map<number, Converter>([
  [1, toNumber],
  [3, toText],
  [4, toText],
  [5, toBoolean],
  [6, toPlace],
  [11, toText],
  [12, toText],
  [13, toBase64],
  [14, toBase64],
  [15, toNumber],
  [16, toNumber],
  [17, toNumber],
  [18, toNumber],
  [19, toInteger],
  [21, toNumber],
  [22, toNumber],
  [23, toBoolean],
  [24, toTime],
  [25, toNumber],
]);
