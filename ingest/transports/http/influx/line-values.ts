/** Values of line protocol as JSON. */

const [quote, backslash] = [0x22, 0x5c];

/** Longest number, in characters: a double written out has less. */
const numberMax = 1100;

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them
const plainText = /^[^"\\\u0000-\u001f]*$/;

export function jsonOfText(text: string): string {
  if (plainText.test(text)) return `"${text}"`;
  return JSON.stringify(text.includes("\\") ? unescapedText(text) : text);
}

/** In texts only quotes and backslashes are escaped. By bytes: half a million of them hold up nobody. */
function unescapedText(text: string): string {
  const bytes = Buffer.from(text);
  let end = 0;
  for (let at = 0; at < bytes.length; at++) {
    const next = bytes[at + 1];
    if (bytes[at] === backslash && (next === quote || next === backslash)) at++;
    bytes[end++] = bytes[at] as number;
  }
  return bytes.toString("utf8", 0, end);
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const anyNumber = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const whole = /^([+-]?)0*(\d{1,20})[iu]$/;
const booleans: ReadonlyMap<string, string> = new Map([
  ...["t", "T", "true", "True", "TRUE"].map((text) => [text, "true"] as const),
  ...["f", "F", "false", "False", "FALSE"].map((text) => [text, "false"] as const),
]);

/** Null for what is no value. */
export function jsonOfValue(text: string): string | null {
  if (text.length > numberMax) return null;
  // Only an exponent, or hundreds of digits, come to more than a double holds.
  if (jsonNumber.test(text)) return text.length < 300 && !/e/i.test(text) ? text : finite(text);
  const integer = whole.exec(text);
  if (integer !== null) return jsonOfInteger(text, integer);
  const boolean = booleans.get(text);
  if (boolean !== undefined) return boolean;
  return anyNumber.test(text) ? finite(text) : null;
}

function finite(text: string): string | null {
  const number = Number(text);
  return Number.isFinite(number) ? JSON.stringify(number) : null;
}

const [int64Min, int64Max, uint64Max] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n];

function jsonOfInteger(text: string, [, sign = "", digits = ""]: RegExpExecArray): string | null {
  const isSigned = text.endsWith("i");
  if (digits.length < 19 && (isSigned || sign !== "-"))
    return (sign === "-" && digits !== "0" ? "-" : "") + digits;
  const value = BigInt(`${sign === "-" ? "-" : ""}${digits}`);
  if (isSigned ? value < int64Min || value > int64Max : value < 0n || value > uint64Max) return null;
  return String(value);
}
