/** Secrets of a contact point do not come back in what the other side says: many a receiver echoes what it gets. */
import type { Secrets } from "../../store/metadata/notifications/contact-points.js";

const blank = "***";

/** Characters: shorter texts would be found by chance, and blanked in every answer. */
const secretLengthMin = 4;
/** The shortest path segment that counts as a secret. A shorter one may be an ordinary word. */
const segmentLengthMin = 8;
const base64LengthMin = 8;

/** The text with every secret blanked, as it is or in base64, percent encoding or JSON. */
export function blankSecrets(text: string, secrets: Secrets): string {
  const forms = new Set(
    Object.entries(secrets)
      .flatMap(([name, value]) => listSecretValues(name, value))
      .filter(({ length }) => length >= secretLengthMin)
      .flatMap(listEncodedForms),
  );
  // The longest first: one may be a part of another.
  return [...forms]
    .sort((a, b) => b.length - a.length)
    .reduce((told, form) => told.replaceAll(form, blank), text);
}

/** Lists the parts of a secret that are secret by themselves too. */
function listSecretValues(name: string, value: string): string[] {
  if (name === "url") return partsOfURL(value);
  if (name === "headers") return Object.values(JSON.parse(value) as Record<string, string>).flatMap(words);
  if (name === "secret") return [value, value.replace(/^whsec_/, "")];
  return words(value);
}

/** A scheme may stand before what is secret: `Bearer …`. */
const words = (value: string): string[] => [value, value.slice(value.indexOf(" ") + 1)];

function partsOfURL(value: string): string[] {
  const { href, pathname, search, searchParams } = new URL(value);
  const segments = pathname.split("/").filter(({ length }) => length >= segmentLengthMin);
  return [value, href, pathname + search, search, ...searchParams.values(), ...segments];
}

const listEncodedForms = (value: string): string[] => [
  value,
  encodeURIComponent(value.toWellFormed()),
  JSON.stringify(value).slice(1, -1),
  ...[0, 1, 2].flatMap((before) => inBase64(value, before)),
];

/** The characters that the value alone decides in the base64 of a text in which so many bytes stand before it. */
function inBase64(value: string, before: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const first = Math.ceil((before * 8) / 6);
  const core = (encoding: "base64" | "base64url"): string =>
    bytes.toString(encoding).slice(first, Math.floor((bytes.length * 8) / 6));
  return [core("base64"), core("base64url")].filter(({ length }) => length >= base64LengthMin);
}
