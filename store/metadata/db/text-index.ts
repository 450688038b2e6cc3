import { foldings } from "./containing.js";
import { tenantMark } from "./schema-search.js";

/** Trigrams that are looked for, of a longer pattern spread over it: what they find is compared with the rows anyway. */
const trigramsMax = 12;

/** What to look for in an index of trigrams (FTS5 syntax); null if a pattern says too little for it. */
export function trigramQuery(tenant: number, patterns: readonly string[]): string | null {
  const found = new Set(patterns.flatMap(trigramsOf));
  if (found.size === 0) return null;
  const all = [...found];
  const step = Math.max(1, all.length / trigramsMax);
  const some = Array.from(
    { length: Math.min(all.length, trigramsMax) },
    (_, i) => all[Math.floor(i * step)] ?? "",
  );
  return [tenantMark(tenant), ...some].map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(" AND ");
}

/**
 * Trigrams that every text has which contains the pattern in any case (`containing`). The index holds ASCII letters in
 * lower case and all others as they are, so others that have two cases cannot be looked for.
 */
function trigramsOf(pattern: string): string[] {
  const folds = foldings(pattern);
  // A letter beyond ASCII that stands for one of ASCII: the text may have it in that one's place.
  if ([...folds.values()].some((folded) => folded <= "\u007f")) return [];
  const cased = new Set([...folds].flat());
  const characters = [...lowerAscii(pattern)];
  return characters.flatMap((_, at) => {
    const three = characters.slice(at, at + 3);
    return three.length < 3 || three.some((one) => cased.has(one)) ? [] : [three.join("")];
  });
}

const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
