/** How a body is packed. */
type ContentCoding = "identity" | "gzip" | "deflate";

const codings: ReadonlyMap<string, ContentCoding> = new Map([
  ["gzip", "gzip"],
  // Its older name (RFC 9110 §8.4.1.3).
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
]);

/** For answers to other codings: those that are taken (RFC 9110 §15.5.16). */
export const acceptedCodings = { "Accept-Encoding": "gzip, deflate" };

/**
 * The coding that a Content-Encoding names, in any case; `identity` and empty elements of the list are none. Null: a
 * coding that is not taken, or several on top of each other.
 */
export function parseCoding(header: string | null | undefined): ContentCoding | null {
  const named = (header ?? "")
    .split(",")
    .map((one) => one.trim().toLowerCase())
    .filter((one) => one !== "" && one !== "identity");
  const [coding] = named;
  if (coding === undefined) return "identity";
  return named.length === 1 ? (codings.get(coding) ?? null) : null;
}
