/** The keys of flat objects, read from their bytes. */

const quote = 0x22;
const space = 0x20;
const backslash = 0x5c;

interface Known {
  readonly bytes: Uint8Array;
  readonly text: string;
}

/** The longest dataPointID: a longer key names no data point, and is not worth remembering. */
const keyBytesMax = 64;

/** Keys seen before, by a hash of their bytes: the same few come again and again. */
const knownKeys = new Array<Known | undefined>(1024).fill(undefined);

/**
 * The key whose quote is at `at`, short and of plain ASCII. Null for any other, and for one that begins with a digit:
 * objects move keys that are numbers to the front.
 */
export function readKey(payload: Buffer, at: number): string | null {
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
  const known = knownKeys[hash];
  if (known !== undefined && isSame(known.bytes, payload, from, end)) return known.text;
  const bytes = Uint8Array.from(payload.subarray(from, end));
  const text = asName(Buffer.from(bytes).toString("latin1"));
  knownKeys[hash] = { bytes, text };
  return text;
}

/** The same text, as the engine keeps names of properties: two of these are compared by their addresses. */
function asName(text: string): string {
  return Object.keys({ [text]: 0 })[0] ?? text;
}

export function isSame(bytes: Uint8Array, payload: Buffer, from: number, end: number): boolean {
  if (bytes.length !== end - from) return false;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== payload[from + i]) return false;
  return true;
}
