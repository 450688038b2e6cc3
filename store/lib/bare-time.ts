import { type Decimal, nearest, toDecimal } from "./decimal.js";

/**
 * Times that are written as bare numbers, by one rule wherever they stand: below 1e11 seconds, below 1e14 milliseconds,
 * below 1e17 microseconds, else nanoseconds since 1970; fractions count. The result is the nearest microsecond, of two
 * equally near ones the later. A JSON number stands for the shortest decimal digits that print it.
 */

/** Microseconds since 1970; null from 2^53 on, and for what is not finite. */
export function microsOfNumber(value: number | bigint): number | null {
  if (typeof value === "bigint") return microsOfDecimal({ digits: value, scale: 0 });
  const size = Math.abs(value);
  if (!(size < 1e21)) return null;
  if (!Number.isInteger(value) || size >= 1e17) return microsOfDecimal(toDecimal(value));
  const micros = size < 1e11 ? value * 1e6 : size < 1e14 ? value * 1e3 : value;
  return Math.abs(micros) < 2 ** 53 ? micros : null;
}

const decimalForm = /^(-?)(\d+)(?:\.(\d+))?$/;
/** Longer texts are not times. */
const digitsMax = 20;
/** Further digits could only break a tie. */
const decimalsMax = 18;

/** The same of digits, perhaps with a sign and decimals; undefined for any other text. */
export function microsOfDigits(text: string): number | null | undefined {
  const found = decimalForm.exec(text);
  if (found === null) return undefined;
  const [, sign = "", digits = "", decimals = ""] = found;
  const first = digits.search(/[1-9]/);
  const whole = first < 0 ? "0" : digits.slice(first);
  if (whole.length > digitsMax) return null;
  const rest = /[1-9]/.test(decimals.slice(decimalsMax)) ? "1" : "";
  const fraction = decimals.slice(0, decimalsMax) + rest;
  return microsOfDecimal({ digits: BigInt(sign + whole + fraction), scale: fraction.length });
}

function microsOfDecimal(decimal: Decimal): number | null {
  const whole = decimal.digits / 10n ** BigInt(decimal.scale);
  const size = whole < 0n ? -whole : whole;
  return nearest(decimal, size < 10n ** 11n ? 6 : size < 10n ** 14n ? 3 : size < 10n ** 17n ? 0 : -3);
}
