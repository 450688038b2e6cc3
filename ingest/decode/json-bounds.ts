/** What a message as JSON may consist of: JSON.parse takes milliseconds, in one piece, for a few 10,000 of anything. */
export const jsonLevelsMax = 64;
/** Members, elements, and the objects and arrays themselves. */
export const jsonPartsMax = 20_000;
/** So few characters hold up nobody, whatever they are. */
const shortMax = 4096;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Whether a text keeps within these bounds, so that it may be parsed; of one that is not JSON it means nothing. */
export function isWithinJsonBounds(text: string): boolean {
  return text.length <= shortMax || !isBeyond(text);
}

function isBeyond(text: string): boolean {
  let depth = 0;
  let parts = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfText(text, at);
    else if (code === comma) parts++;
    else if (code === openBrace || code === openBracket) {
      parts++;
      if (++depth > jsonLevelsMax) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
    if (parts > jsonPartsMax) return true;
  }
  return false;
}

/** Where a text that begins with the quote at `from` has its closing one. */
export function endOfText(text: string, from: number): number {
  let at = from + 1;
  for (let code = text.charCodeAt(at); code !== quote && at < text.length; code = text.charCodeAt(++at))
    if (code === backslash) at++;
  return at;
}
