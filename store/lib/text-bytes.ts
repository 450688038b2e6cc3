/** Memory that texts take: at most two bytes a character, plus the engine's own overhead for each. */
const overheadBytes = 32;

export const textBytes = (text: string): number => overheadBytes + 2 * text.length;

/** Bytes of texts that one read of a series may hold if nothing else bounds it. */
export const textsPerReadBytes = 8 << 20;

export const textsBytes = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + textBytes(text), 0);

/**
 * How many texts, from the first or the last, it takes to reach `bytesMax` bytes; all of them if they do not reach it.
 * A text that is longer than the bound counts alone.
 */
export function textsWithin(
  count: number,
  textAt: (index: number) => string,
  from: "newest" | "oldest",
  bytesMax: number,
): number {
  let bytes = 0;
  for (let n = 0; n < count; n++) {
    if (bytes >= bytesMax) return n;
    bytes += textBytes(textAt(from === "newest" ? count - 1 - n : n));
  }
  return count;
}
