import type { LocalTime } from "../../../ingest/decode/time.js";
import { type Converted, converters } from "../../../ingest/decode/values.js";

/**
 * How values of history files become stored ones: like those from devices, except for two types that files have in
 * their stored form.
 */

const placeType = 6;
const timeType = 24;

/** The values that a data point takes. */
export interface PointAnswer {
  /** pointDataType. */
  readonly type: number;
  /** The values of its enumeration; null if it takes all. */
  readonly allowed: ReadonlySet<number | boolean | string> | null;
}

/** Converts a value for a data point; a text may come from CSV or from JSON. */
export function importValue({ type, allowed }: PointAnswer, value: unknown, local: LocalTime): Converted {
  const converted = ofType(type, value, local);
  const isOutside = "value" in converted && allowed !== null && !allowed.has(converted.value);
  return isOutside ? { reason: "enum" } : converted;
}

function ofType(type: number, value: unknown, local: LocalTime): Converted {
  const convert = converters.get(type);
  if (convert === undefined) return { reason: "type" };
  // Stored and exported as milliseconds: the size of the number says nothing about its unit.
  if (type === timeType && isMillis(value)) return { value: Number(value) };
  if (type === placeType && typeof value === "string") return convert(fromJson(value), local);
  return convert(value, local);
}

function isMillis(value: unknown): boolean {
  return (
    typeof value === "bigint" ||
    (typeof value === "number" && Number.isFinite(value)) ||
    (typeof value === "string" && /^-?\d{1,16}(\.\d{1,6})?$/.test(value))
  );
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Types that take a number cell unchanged. */
const numberTypes: ReadonlySet<number> = new Set([1, 15, 16, 17, 18, 21, 22, 25, 24]);

/** Whether the data point's values are numbers. */
export function isNumeric({ type }: PointAnswer): boolean {
  return numberTypes.has(type);
}

export function acceptsNumbers(point: PointAnswer): boolean {
  return point.allowed === null && isNumeric(point);
}

const zero = 48;
const minus = 45;
const point = 46;
const comma = 44;
const digitsExactMax = 15;
const powersOfTen = Array.from({ length: digitsExactMax + 1 }, (_, n) => 10 ** n);

/**
 * Reads up to 15 digits and a point, or with `decimalComma` a comma, by one exact division; NaN for anything else, which
 * may still be a number.
 */
export function readDecimal(bytes: Uint8Array, start: number, end: number, decimalComma = false): number {
  const negative = bytes[start] === minus;
  const first = negative ? start + 1 : start;
  let mantissa = 0;
  let digits = 0;
  let pointAt = -1;
  for (let at = first; at < end; at++) {
    const byte = bytes[at] as number;
    const digit = byte - zero;
    if (digit < 0 || digit > 9) {
      const isPoint = byte === point || (byte === comma && decimalComma);
      if (!isPoint || pointAt >= 0 || at === first || at === end - 1) return Number.NaN;
      pointAt = at;
      continue;
    }
    if (digits === digitsExactMax) return Number.NaN;
    mantissa = mantissa * 10 + digit;
    digits++;
  }
  if (digits === 0) return Number.NaN;
  const value = pointAt < 0 ? mantissa : mantissa / (powersOfTen[end - pointAt - 1] as number);
  return negative ? -value : value;
}

/** The meaning of each reason, for readers of the list of bad rows. */
export const valueReasonTexts: Readonly<Record<string, string>> = {
  type: "is no value of the data point's type",
  number: "is not a number that the data point can hold",
  enum: "is none of the data point's enumeration",
  size: "is longer than a series can hold",
};
