/** Encodings that spreadsheets and Windows write text files in; without a mark, a file is UTF-8. */
type TextEncoding = "utf-8" | "utf-16le" | "utf-16be";

/** By the first two bytes: the byte order mark of UTF-16 is no text in UTF-8. */
export function detectEncoding(bytes: Uint8Array): TextEncoding {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}
