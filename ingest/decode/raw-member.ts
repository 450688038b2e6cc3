const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The text of a member's value within a JSON object, digit for digit as it stands; of several members of the name the
 * last, as JSON.parse has it. Null if there is none.
 * @param json an object that JSON.parse has read
 */
export function rawMember(json: string, name: string): string | null {
  let found: string | null = null;
  let at = json.indexOf("{") + 1;
  while (at < json.length) {
    const keyAt = json.indexOf('"', at);
    if (keyAt < 0) break;
    const keyEnd = endOfText(json, keyAt);
    const isIt =
      keyEnd - keyAt === name.length + 2
        ? json.startsWith(name, keyAt + 1)
        : keyEnd - keyAt <= escapedMax * name.length + 2 && isEscaped(json.slice(keyAt, keyEnd), name);
    const valueAt = json.indexOf(":", keyEnd) + 1;
    const end = endOfValue(json, valueAt);
    if (isIt) found = json.slice(valueAt, end).trim();
    at = end + 1;
  }
  return found;
}

/** Characters that JSON may write one character with: \u0000. */
const escapedMax = 6;

/** Whether a name, written with escapes, is this one. */
function isEscaped(written: string, name: string): boolean {
  return written.includes("\\") && JSON.parse(written) === name;
}

/** After its closing quote. */
function endOfText(json: string, from: number): number {
  let at = from + 1;
  for (let code = json.charCodeAt(at); code !== quote && at < json.length; code = json.charCodeAt(++at)) {
    if (code === backslash) at++;
  }
  return at + 1;
}

/** The comma or the brace that follows it. */
function endOfValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === quote) {
      at = endOfText(json, at);
      continue;
    }
    if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) {
      if (depth === 0) return at;
      depth--;
    } else if (code === comma && depth === 0) return at;
    at++;
  }
  return at;
}
