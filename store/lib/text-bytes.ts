/** What texts hold in memory: two bytes a character at most, and what the engine keeps with each. */
const overheadBytes = 32;

export const textBytes = (text: string): number => overheadBytes + 2 * text.length;

/** Texts that one read of a series holds, where nothing else bounds it. */
export const textsPerReadBytes = 8 << 20;

export const textsBytes = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + textBytes(text), 0);

/**
 * How many texts, from the first or from the last, are held by the time they are `bytesMax` or more: all where they are
 * not. A text that is longer than the bound is held alone.
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
