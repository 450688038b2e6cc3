/** Where the characters of UTF-8 begin and end. */

/** The bytes of the character that begins at `at`, 1 to 4; 0 if none does (RFC 3629 §4). */
export function characterBytes(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === undefined || (first >= 0x80 && first < 0xc2) || first > 0xf4) return 0;
  if (first < 0x80) return 1;
  const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  const second = bytes[at + 1];
  const [least, most] = secondBytes.get(first) ?? [0x80, 0xbf];
  if (second === undefined || second < least || second > most) return 0;
  for (let more = 2; more < size; more++) if (!isContinuation(bytes[at + more])) return 0;
  return size;
}

/** Whether the byte is one of a character that has begun before it. */
export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Where the second byte has narrower bounds: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
const secondBytes: ReadonlyMap<number, readonly [number, number]> = new Map([
  [0xe0, [0xa0, 0xbf]],
  [0xed, [0x80, 0x9f]],
  [0xf0, [0x90, 0xbf]],
  [0xf4, [0x80, 0x8f]],
]);
