import { parseExactNumber } from "./exact-numbers.js";
import { isSame, readKey } from "./flat-keys.js";

/**
 * Most sensors send flat objects: `{"temp":21.5,"on":true,"mode":"eco"}`, or `{"temp":{"value":21.5,"time":…}}`. They
 * and lists of them are read from their bytes, without the objects that JSON.parse would make. Any other payload is
 * left to JSON.parse, as is every case of doubt.
 */

type Scalar = number | bigint | boolean | string;

/** The members that were read, in their order; valid until the next call. */
export const flat = {
  keys: new Array<string>(128).fill(""),
  values: new Array<Scalar>(128).fill(0),
  /** Whether `times` speaks of these members: some are in the value form. */
  isTimed: false,
  /** Undefined if a member has no time of its own. */
  times: new Array<Scalar | undefined>(128).fill(undefined),
  /** For each object the index after its last member. */
  ends: new Array<number>(64).fill(0),
};

/** The most members of one object, and of all. */
const membersMax = 32;
const allMembersMax = 1024;
const quote = 0x22;
const space = 0x20;
const comma = 0x2c;
const colon = 0x3a;
const bracketOpen = 0x5b;
const backslash = 0x5c;
const bracketClose = 0x5d;
const braceOpen = 0x7b;
const braceClose = 0x7d;

/** Where the reader stands. */
let at = 0;

/** Reads an object of plain values, or a list of these, into `flat`; how many objects there are, or -1 for all else. */
export function scanFlat(payload: Buffer): number {
  flat.isTimed = false;
  if (payload[0] !== bracketOpen) {
    at = 0;
    const end = scanObject(payload, 0, false);
    flat.ends[0] = end;
    return end >= 0 && at === payload.length ? 1 : -1;
  }
  at = 1;
  for (let objects = 0, end = 0; end <= allMembersMax; ) {
    skipSpaces(payload);
    end = scanObject(payload, end, objects === 0);
    if (end < 0) return -1;
    flat.ends[objects++] = end;
    skipSpaces(payload);
    const next = payload[at++];
    if (next === bracketClose) return at === payload.length ? objects : -1;
    if (next !== comma) return -1;
  }
  return -1;
}

/**
 * The members of an object, from index `first` on; the index after the last, or -1 if it is none of these. An object
 * that may be a record of SenML is none.
 */
function scanObject(payload: Buffer, first: number, mayBeRecord: boolean): number {
  if (payload[at++] !== braceOpen) return -1;
  for (let i = first; i < first + membersMax; i++) {
    skipSpaces(payload);
    const key = readKey(payload, at);
    if (key === null || isAmong(key, first, i)) return -1;
    if (mayBeRecord && (key === "n" || key === "bn")) return -1;
    at += key.length + 2;
    skipSpaces(payload);
    if (payload[at++] !== colon) return -1;
    skipSpaces(payload);
    if (flat.isTimed) flat.times[i] = undefined;
    if (payload[at] === braceOpen) {
      if (!readForm(payload, i, key)) return -1;
    } else {
      const value = readValue(payload);
      if (value === null) return -1;
      flat.values[i] = value;
    }
    flat.keys[i] = key;
    skipSpaces(payload);
    const next = payload[at++];
    if (next === braceClose) return i + 1;
    if (next !== comma) return -1;
  }
  return -1;
}

/** `{"value": 21.5}`, perhaps with a `time`, in either order; false for any other object. */
function readForm(payload: Buffer, member: number, name: string): boolean {
  // A time is no data point, and has no value form.
  if (name === "time" || name === "TimeStamp") return false;
  if (!flat.isTimed) flat.times.fill(undefined, 0, member + 1);
  flat.isTimed = true;
  at++;
  let hasValue = false;
  for (;;) {
    skipSpaces(payload);
    const key = readKey(payload, at);
    if (key === null) return false;
    if (key === "value" ? hasValue : key !== "time" || flat.times[member] !== undefined) return false;
    at += key.length + 2;
    skipSpaces(payload);
    if (payload[at++] !== colon) return false;
    skipSpaces(payload);
    const value = readValue(payload);
    if (value === null) return false;
    if (key === "value") {
      flat.values[member] = value;
      hasValue = true;
    } else flat.times[member] = value;
    skipSpaces(payload);
    const next = payload[at++];
    if (next === braceClose) return hasValue;
    if (next !== comma) return false;
  }
}

function skipSpaces(payload: Buffer): void {
  while (payload[at] === space) at++;
}

/** Whether the key has come before in its object: of two the last counts, which is left to JSON.parse. */
function isAmong(key: string, first: number, end: number): boolean {
  for (let i = first; i < end; i++) if (flat.keys[i] === key) return true;
  return false;
}

const literals = [
  { bytes: Buffer.from("true"), value: true },
  { bytes: Buffer.from("false"), value: false },
] as const;

function readValue(payload: Buffer): Scalar | null {
  const first = payload[at];
  if (first === quote) return readText(payload);
  if (first !== 0x74 && first !== 0x66) return readNumber(payload);
  const { bytes, value } = literals[first === 0x74 ? 0 : 1];
  if (!isSame(bytes, payload, at, at + bytes.length)) return null;
  at += bytes.length;
  return value;
}

/** Reads a text of ASCII without escapes; null for any other. */
function readText(payload: Buffer): string | null {
  const from = at + 1;
  let end = from;
  for (let byte = payload[end]; byte !== quote; byte = payload[++end]) {
    if (byte === undefined || byte < space || byte > 0x7e || byte === backslash) return null;
  }
  at = end + 1;
  return payload.toString("latin1", from, end);
}

/** Up to this many digits are exact in a double, and so are these powers of ten: the quotient is rounded correctly. */
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
  if (!isShort || exponent) return parseExactNumber(payload.toString("latin1", start, at));
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
