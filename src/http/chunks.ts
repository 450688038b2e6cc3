/** Bytes held for the reader of an answer that is made as it is read. */
export const chunkBytesMax = 64 * 1024;

/** Joins pieces into chunks of at most `bytesMax`, and splits longer ones. */
export function* inChunks(
  pieces: Iterable<Uint8Array>,
  bytesMax = chunkBytesMax,
): Generator<Uint8Array<ArrayBuffer>, void> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    let rest = piece;
    while (bytes + rest.length > bytesMax) {
      const cut = bytesMax - bytes;
      parts.push(rest.subarray(0, cut));
      yield Buffer.concat(parts);
      rest = rest.subarray(cut);
      parts = [];
      bytes = 0;
    }
    parts.push(rest);
    bytes += rest.length;
  }
  if (bytes > 0) yield Buffer.concat(parts);
}
