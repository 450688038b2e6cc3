/** So large because a session ticket in it holds the certificates of a mutual handshake. */
export const helloBytesMax = 8192;

/** TLS 1.3, RFC 8446 §5.1: type, version and length of a record. */
const headBytes = 5;
const handshakeType = 22;

/** Whether the first record of a TLS connection is complete. "bad": not a handshake, or longer than any ClientHello. */
export function lookAtHello(bytes: Buffer): "whole" | "more" | "bad" {
  if (bytes[0] !== handshakeType || bytes.length > helloBytesMax) return "bad";
  if (bytes.length < headBytes) return "more";
  const length = headBytes + bytes.readUInt16BE(3);
  if (length > helloBytesMax) return "bad";
  return bytes.length < length ? "more" : "whole";
}
