import { numberOf } from "./whole.js";

/**
 * Most sensors send flat objects of numbers: `{"temp":21.5,"on":true}`, or `{"temp":{"value":21.5,"time":…}}`. These
 * are read from their bytes, without the objects that JSON.parse would make. Any other payload is left to JSON.parse,
 * as is every case of doubt.
 */

/** The members that were read, in their order; valid until the next call. */
export const flat = {
  keys: new Array<string>(32).fill(""),
  values: new Array<number | bigint | boolean>(32).fill(0),
  /** Whether `times` speaks of these members: some are in the value form. */
  isTimed: false,
  /** Undefined if a member has no time of its own. */
  times: new Array<number | bigint | boolean | undefined>(32).fill(undefined),
};

const membersMax = 32;
const quote = 0x22;
const space = 0x20;
const comma = 0x2c;
const colon = 0x3a;
const braceOpen = 0x7b;
const braceClose = 0x7d;
const backslash = 0x5c;

/** Where the reader stands; -1 once the payload is not a flat object. */
let at = 0;

/** How many members were put into `flat`, or -1 if the payload is not an object of numbers and booleans. */
export function scanFlat(payload: Buffer): number {
  if (payload[0] !== braceOpen) return -1;
  at = 1;
  flat.isTimed = false;
  for (let count = 0; count < membersMax; count++) {
    skipSpaces(payload);
    const key = readKey(payload);
    if (key === null || isAmong(key, count)) return -1;
    skipSpaces(payload);
    if (payload[at++] !== colon) return -1;
    skipSpaces(payload);
    if (payload[at] === braceOpen) {
      if (!readForm(payload, count, key)) return -1;
    } else {
      const value = readValue(payload);
      if (value === null) return -1;
      flat.values[count] = value;
    }
    flat.keys[count] = key;
    skipSpaces(payload);
    const next = payload[at++];
    if (next === braceClose) return at === payload.length ? count + 1 : -1;
    if (next !== comma) return -1;
  }
  return -1;
}

/** `{"value": 21.5}`, perhaps with a `time`, in either order; false for any other object. */
function readForm(payload: Buffer, count: number, name: string): boolean {
  // A time is no data point, and has no value form.
  if (name === "time" || name === "TimeStamp") return false;
  if (!flat.isTimed) flat.times.fill(undefined);
  flat.isTimed = true;
  at++;
  let hasValue = false;
  for (;;) {
    skipSpaces(payload);
    const key = readKey(payload);
    if (key === "value" ? hasValue : key !== "time" || flat.times[count] !== undefined) return false;
    skipSpaces(payload);
    if (payload[at++] !== colon) return false;
    skipSpaces(payload);
    const value = readValue(payload);
    if (value === null) return false;
    if (key === "value") {
      flat.values[count] = value;
      hasValue = true;
    } else flat.times[count] = value;
    skipSpaces(payload);
    const next = payload[at++];
    if (next === braceClose) return hasValue;
    if (next !== comma) return false;
  }
}

function skipSpaces(payload: Buffer): void {
  while (payload[at] === space) at++;
}

/** Whether the key has come before: of two the last counts, which is left to JSON.parse. */
function isAmong(key: string, count: number): boolean {
  for (let i = 0; i < count; i++) if (flat.keys[i] === key) return true;
  return false;
}

interface Known {
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** The longest dataPointID: a longer key names no data point, and is not worth remembering. */
const keyBytesMax = 64;

/** Keys seen before, by a hash of their bytes: the same few come again and again. */
const knownKeys = new Array<Known | undefined>(1024).fill(undefined);

/** A short key of plain ASCII that does not begin with a digit: objects move keys that are numbers to the front. */
function readKey(payload: Buffer): string | null {
  if (payload[at] !== quote) return null;
  const from = at + 1;
  const first = payload[from] ?? 0;
  if (first >= 0x30 && first <= 0x39) return null;
  let hash = 0;
  let end = from;
  for (; ; end++) {
    const byte = payload[end];
    if (byte === quote) break;
    if (byte === undefined || byte < space || byte > 0x7e || byte === backslash) return null;
    if (end - from === keyBytesMax) return null;
    hash = (hash * 31 + byte) & 0x3ff;
  }
  at = end + 1;
  const known = knownKeys[hash];
  if (known !== undefined && isSame(known.bytes, payload, from, end)) return known.text;
  const bytes = Uint8Array.from(payload.subarray(from, end));
  const text = Buffer.from(bytes).toString("latin1");
  knownKeys[hash] = { bytes, text };
  return text;
}

function isSame(bytes: Uint8Array, payload: Buffer, from: number, end: number): boolean {
  if (bytes.length !== end - from) return false;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== payload[from + i]) return false;
  return true;
}

const literals = [
  { bytes: Buffer.from("true"), value: true },
  { bytes: Buffer.from("false"), value: false },
] as const;

function readValue(payload: Buffer): number | bigint | boolean | null {
  const first = payload[at];
  if (first !== 0x74 && first !== 0x66) return readNumber(payload);
  const { bytes, value } = literals[first === 0x74 ? 0 : 1];
  if (!isSame(bytes, payload, at, at + bytes.length)) return null;
  at += bytes.length;
  return value;
}

/** So many digits are exact in a double, and so are these powers of ten: their quotient is rounded correctly. */
const digitsMax = 15;
const powers = Array.from({ length: digitsMax + 1 }, (_, exponent) => 10 ** exponent);

/** JSON's numbers: short ones by their digits, others as JavaScript reads them. */
function readNumber(payload: Buffer): number | bigint | null {
  const start = at;
  const isNegative = payload[at] === 0x2d;
  if (isNegative) at++;
  const from = at;
  let digits = readDigits(payload, 0);
  const whole = at - from;
  // JSON has no leading zeros.
  if (whole === 0 || (whole > 1 && payload[from] === 0x30)) return null;
  let decimals = 0;
  if (payload[at] === 0x2e) {
    const point = ++at;
    digits = readDigits(payload, digits);
    decimals = at - point;
    if (decimals === 0) return null;
  }
  const isShort = whole + decimals <= digitsMax;
  const exponent = readExponent(payload);
  if (exponent === null) return null;
  if (!isShort || exponent) return numberOf(payload.toString("latin1", start, at));
  const size = decimals === 0 ? digits : digits / (powers[decimals] as number);
  return isNegative ? -size : size;
}

/** Whether there is one; null if it is malformed. */
function readExponent(payload: Buffer): boolean | null {
  const mark = payload[at];
  if (mark !== 0x65 && mark !== 0x45) return false;
  at++;
  const sign = payload[at];
  if (sign === 0x2b || sign === 0x2d) at++;
  const from = at;
  readDigits(payload, 0);
  return at > from ? true : null;
}

function readDigits(payload: Buffer, before: number): number {
  let value = before;
  for (;;) {
    const digit = (payload[at] as number) - 0x30;
    // Not a digit, or the end.
    if (!(digit >= 0 && digit <= 9)) return value;
    value = value * 10 + digit;
    at++;
  }
}
