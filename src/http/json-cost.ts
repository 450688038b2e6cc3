/** What a value of JSON takes in memory beside its texts, in bytes: an object or list, a member, an element. */
const cost = { container: 56, member: 40, element: 16 } as const;

/** By the bytes of JSON outside of its texts. */
const costs = new Uint8Array(256);
costs[0x2c] = cost.element;
costs[0x3a] = cost.member;
costs[0x5b] = cost.container;
costs[0x7b] = cost.container;

/** What a byte adds to the depth of nesting. */
const steps = new Int8Array(256);
steps[0x5b] = 1;
steps[0x7b] = 1;
steps[0x5d] = -1;
steps[0x7d] = -1;

const [quote, backslash] = [0x22, 0x5c];

interface JsonCost {
  /** Values, or somewhat more: a member of an object, which takes longer to read, counts as two. */
  readonly values: number;
  /** Roughly the bytes that they take in memory together. */
  readonly bytes: number;
  /** How deep arrays and objects are nested: 0 for a text or a number alone. */
  readonly levels: number;
}

/** What the value costs which these bytes are the JSON of. Takes a millisecond for a mebibyte. */
export function measureJSONCost(json: Uint8Array): JsonCost {
  let bytes = 2 * json.length;
  let values = 1;
  let [depth, levels] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === quote) {
      at = endOfText(json, at);
      continue;
    }
    depth += steps[byte] as number;
    if (depth > levels) levels = depth;
    const one = costs[byte] as number;
    if (one === 0) continue;
    bytes += one;
    values++;
  }
  return { values, bytes, levels };
}

/** Where the text ends that begins at `from`: at its closing quote, or at the end of what is cut off. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  for (; at < json.length && json[at] !== quote; at++) if (json[at] === backslash) at++;
  return at;
}
