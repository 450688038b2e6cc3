import { startOfJson } from "./bare-json.js";
import { characterBytes, isContinuation } from "./utf8.js";

/** Where a payload ceases to be JSON in UTF-8 (RFC 8259), and why; the same on every engine. */
export interface JsonFault {
  /** The position in the payload as received, from 0; its length if the text ends too early. */
  readonly byte: number;
  /** From 1. */
  readonly line: number;
  /** In characters, from 1; a byte order mark is none. */
  readonly column: number;
  readonly why: string;
}

/** The first fault; null if there is none. Trailing NULs are no part of the text, nor is a byte order mark before it. */
export function findJsonFault(payload: Buffer): JsonFault | null {
  const from = startOfJson(payload);
  let end = payload.length;
  while (end > from && payload[end - 1] === 0) end--;
  const scanner = new Scanner(payload.subarray(0, end), from);
  const why = scanner.scan();
  if (why === null) return null;
  const byte = scanner.at;
  const lineAt = payload.subarray(0, byte).lastIndexOf(newline) + 1;
  let line = 1;
  for (let at = 0; at < lineAt; at++) if (payload[at] === newline) line++;
  let column = 1;
  for (let at = Math.max(lineAt, from); at < byte; at++) if (!isContinuation(payload[at])) column++;
  return { byte, line, column, why };
}

/** As an error says it: `line 1, column 9: NaN is no number of JSON`. */
export function faultText({ line, column, why }: JsonFault): string {
  return `line ${line}, column ${column}: ${why}`;
}

const newline = 0x0a;

const [quote, backslash, comma, colon, minus, plus, dot] = [0x22, 0x5c, 0x2c, 0x3a, 0x2d, 0x2b, 0x2e];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === newline || byte === 0x0d;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const isWordByte = (byte: number | undefined): boolean =>
  isDigit(byte) || byte === 0x5f || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);

/** Words that programs write where JSON has no number. */
const noNumbers: ReadonlySet<string> = new Set(["nan", "inf", "infinity"]);
const wordCharactersMax = 20;

/** Goes through a text once, without recursion; each method returns the fault at `at`, or null. */
class Scanner {
  readonly #bytes: Buffer;
  at: number;
  /** What encloses the place: an object or an array each. */
  readonly #open: number[] = [];

  constructor(bytes: Buffer, from: number) {
    this.#bytes = bytes;
    this.at = from;
  }

  scan(): string | null {
    this.#skipSpaces();
    if (this.#isEnd) return "there is nothing";
    for (;;) {
      const wrong = this.#value() ?? this.#closings();
      if (wrong !== null) return wrong;
      if (this.#open.length === 0) break;
    }
    return this.#isEnd ? null : `the value has ended before ${this.#here}`;
  }

  /** A value, or the beginning of one that has a first member. */
  #value(): string | null {
    for (;;) {
      this.#skipSpaces();
      const byte = this.#bytes[this.at];
      if (byte !== openBrace && byte !== openBracket) return this.#scalar(byte);
      this.#open.push(byte);
      this.at++;
      this.#skipSpaces();
      if (this.#bytes[this.at] === closing(byte)) return null;
      const wrong = byte === openBrace ? this.#name() : null;
      if (wrong !== null) return wrong;
    }
  }

  /** What closes after a value; then a comma, before the next one. */
  #closings(): string | null {
    while (this.#open.length > 0) {
      const opened = this.#open.at(-1) as number;
      this.#skipSpaces();
      const byte = this.#bytes[this.at];
      if (byte === closing(opened)) {
        this.#open.pop();
        this.at++;
        continue;
      }
      if (byte !== comma) return this.#missing(opened === openBrace ? "a comma or }" : "a comma or ]");
      this.at++;
      this.#skipSpaces();
      if (this.#bytes[this.at] === closing(opened)) return `a comma stands before ${this.#here}`;
      return opened === openBrace ? this.#name() : null;
    }
    this.#skipSpaces();
    return null;
  }

  #name(): string | null {
    this.#skipSpaces();
    if (this.#isEnd) return this.#missing("a name in double quotes");
    if (this.#bytes[this.at] !== quote) return `a name must be in double quotes, and here is ${this.#here}`;
    const wrong = this.#text();
    if (wrong !== null) return wrong;
    this.#skipSpaces();
    if (this.#bytes[this.at] !== colon) return this.#missing("a colon after the name");
    this.at++;
    return null;
  }

  #scalar(byte: number | undefined): string | null {
    if (byte === quote) return this.#text();
    if (byte === minus || isDigit(byte)) return this.#number();
    if (byte === plus || byte === dot) return `a number does not begin with ${this.#here}`;
    return isWordByte(byte) ? this.#word(this.at) : this.#missing("a value");
  }

  #word(from: number): string | null {
    let end = from;
    while (isWordByte(this.#bytes[end])) end++;
    const word = this.#bytes.toString("latin1", from, end);
    if (from === this.at && (word === "true" || word === "false" || word === "null")) {
      this.at = end;
      return null;
    }
    const shown = word.slice(0, wordCharactersMax);
    const sign = from > this.at ? "-" : "";
    return noNumbers.has(word.toLowerCase())
      ? `${sign}${shown} is no number of JSON`
      : `${sign}${shown} is no value of JSON`;
  }

  #number(): string | null {
    const from = this.at;
    const isNegative = this.#bytes[from] === minus;
    const first = isNegative ? from + 1 : from;
    if (isNegative && isWordByte(this.#bytes[first]) && !isDigit(this.#bytes[first]))
      return this.#word(first);
    this.at = first;
    const wrong = this.#digits();
    if (wrong !== null) return wrong;
    if (this.#bytes[first] === 0x30 && this.at > first + 1) {
      this.at = first;
      return "a number has no leading zeros";
    }
    return this.#fraction() ?? this.#exponent();
  }

  #fraction(): string | null {
    if (this.#bytes[this.at] !== dot) return null;
    this.at++;
    return this.#digits();
  }

  #exponent(): string | null {
    const mark = this.#bytes[this.at];
    if (mark === undefined || (mark | 0x20) !== 0x65) return null;
    const sign = this.#bytes[++this.at];
    if (sign === plus || sign === minus) this.at++;
    return this.#digits();
  }

  #digits(): string | null {
    if (!isDigit(this.#bytes[this.at])) return this.#missing("a digit");
    while (isDigit(this.#bytes[this.at])) this.at++;
    return null;
  }

  #text(): string | null {
    this.at++;
    for (;;) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) return this.#missing("the closing quote of a text");
      if (byte === quote) {
        this.at++;
        return null;
      }
      if (byte < 0x20) return `a text holds ${this.#here} only as \\u${hex(byte).padStart(4, "0")}`;
      const wrong = byte === backslash ? this.#escape() : this.#character(byte);
      if (wrong !== null) return wrong;
    }
  }

  #escape(): string | null {
    const escaped = this.#bytes[this.at + 1];
    if (escaped === undefined) {
      this.at++;
      return this.#missing("what follows a backslash");
    }
    if (escaped !== 0x75) {
      if (!'"\\/bfnrt'.includes(String.fromCharCode(escaped)))
        return `a backslash in a text stands before one of " \\ / b f n r t u`;
      this.at += 2;
      return null;
    }
    const digits = this.#bytes.toString("latin1", this.at + 2, this.at + 6);
    if (!/^[\da-fA-F]{4}$/.test(digits)) return "\\u needs four digits from 0 to f";
    this.at += 6;
    return null;
  }

  #character(first: number): string | null {
    const size = characterBytes(this.#bytes, this.at);
    if (size === 0) return `the byte 0x${hex(first)} is not UTF-8`;
    this.at += size;
    return null;
  }

  #skipSpaces(): void {
    while (isSpace(this.#bytes[this.at])) this.at++;
  }

  get #isEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  #missing(what: string): string {
    return this.#isEnd ? `the text ends, and ${what} is missing` : `${what} is missing before ${this.#here}`;
  }

  /** What stands here, as it can be shown. */
  get #here(): string {
    const byte = this.#bytes[this.at] as number;
    if (byte > 0x20 && byte < 0x7f) return String.fromCharCode(byte);
    if (byte < 0x80) return `the byte 0x${hex(byte)}`;
    const size = characterBytes(this.#bytes, this.at);
    if (size === 0) return `a byte that is not UTF-8, 0x${hex(byte)}`;
    return this.#bytes.toString("utf8", this.at, this.at + size);
  }
}

const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
const closing = (opened: number): number => (opened === openBrace ? closeBrace : closeBracket);
