import { randomBytes } from "node:crypto";

/**
 * Whole numbers that no double holds are bigints until a data point takes them: so it is seen, and counted, when
 * digits are lost.
 */

export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** The double that holds it, or the bigint itself. */
export function toExactInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isFinite(number) && BigInt(number) === value ? number : value;
}

/** Sums of whole numbers are exact. */
export function exactSum(a: number | bigint, b: number | bigint): number | bigint {
  const sum = Number(a) + Number(b);
  if (Math.abs(sum) < 2 ** 53 && typeof a === "number" && typeof b === "number") return sum;
  const isWhole = [a, b].every((one) => typeof one === "bigint" || Number.isInteger(one));
  return isWhole && Math.abs(sum) < wholeMax ? toExactInteger(BigInt(a) + BigInt(b)) : sum;
}

/** Larger numbers and longer texts are the double that JSON.parse makes of them: all such are rounded anyway. */
const wholeMax = 1e21;
const tokenCharactersMax = 400;

/** A number as JSON writes it. */
export function parseExactNumber(token: string): number | bigint {
  const number = Number(token);
  const size = Math.abs(number);
  if (!(size >= 2 ** 53 && size < wholeMax) || token.length > tokenCharactersMax) return number;
  if (/^-?\d+$/.test(token)) return toExactInteger(BigInt(token));
  const [, whole = "", decimals = "", exponent = "0"] =
    /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const zeros = Number(exponent) - decimals.length;
  const digits = whole + decimals;
  if (zeros >= 0) return toExactInteger(BigInt(digits) * 10n ** BigInt(zeros));
  // A number that is not whole is rounded anyway.
  return /^0*$/.test(digits.slice(zeros)) ? toExactInteger(BigInt(digits.slice(0, zeros))) : number;
}

/** JSON.parse, except that whole numbers which no double holds are bigints. @throws SyntaxError */
export function parseJson(text: string): unknown {
  const parsed = JSON.parse(text) as unknown;
  return holdsLarge(parsed, levels) ? parseExactly(text, parsed) : parsed;
}

/** Telemetry, its entries, their values, and the numbers of the value form. */
const levels = 4;

/** Whether a number from 2^53 on came out in a place that may hold values. */
function holdsLarge(value: unknown, depth: number): boolean {
  if (typeof value === "number") return value >= 2 ** 53 || value <= -(2 ** 53);
  if (typeof value !== "object" || value === null || depth === 0) return false;
  if (Array.isArray(value)) {
    for (const one of value) if (holdsLarge(one, depth - 1)) return true;
    return false;
  }
  for (const key in value) if (holdsLarge((value as Record<string, unknown>)[key], depth - 1)) return true;
  return false;
}

/**
 * Shorter numbers are below 2^53, or have an exponent and count as rounded anyway; an exponent itself never matches.
 */
const longNumber = /(?<![\deE.+-])-?\d[\d.]{15,}(?:[eE][+-]?\d+)?/g;

/** The same text with texts in place of those numbers, which no sender can write: they hold a random mark. */
function parseExactly(text: string, parsed: unknown): unknown {
  const mark = randomBytes(9).toString("base64url");
  const found: bigint[] = [];
  let marked = "";
  let copied = 0;
  let string = nextString(text, 0);
  for (const { 0: token, index } of text.matchAll(longNumber)) {
    while (string.end < index) string = nextString(text, string.end + 1);
    const number = string.begin < index ? 0 : parseExactNumber(token);
    if (typeof number !== "bigint") continue;
    marked += `${text.slice(copied, index)}"${mark}${found.push(number) - 1}"`;
    copied = index + token.length;
  }
  return found.length === 0 ? parsed : unmarked(JSON.parse(marked + text.slice(copied)), mark, found);
}

/** Where the next string begins and ends, looked for from an index outside of strings. */
function nextString(text: string, from: number): { readonly begin: number; readonly end: number } {
  const begin = text.indexOf('"', from);
  if (begin < 0) return { begin: text.length, end: text.length };
  let end = text.indexOf('"', begin + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return { begin, end };
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}

/** Any depth that JSON.parse has followed is followed here. */
function unmarked(parsed: unknown, mark: string, found: readonly bigint[]): unknown {
  const root = [parsed];
  const open: object[] = [root];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const object = one as Record<string | number, unknown>;
    const look = (key: string | number) => {
      const value = object[key];
      if (typeof value === "object" && value !== null) open.push(value);
      else if (typeof value === "string" && value.startsWith(mark))
        object[key] = found[Number(value.slice(mark.length))];
    };
    if (Array.isArray(one)) for (let i = 0; i < one.length; i++) look(i);
    else for (const key in one) look(key);
  }
  return root[0];
}

/** JSON.stringify, except that bigints are written as the numbers they are. @throws RangeError if nested too deeply */
export function writeJson(value: object): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const mark = randomBytes(12).toString("base64url");
    const text = JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? mark + one : one));
    return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
  }
}
