import { foldings } from "./containing.js";
import { tenantMark } from "./schema-search.js";
import type { Condition } from "./sql.js";

/** The most trigrams that are looked up, spread over the patterns. */
const trigramsMax = 8;
/** A term that leaves less than this share of the rows is worth looking up beside the rarest one. */
const selectiveShare = 0.5;
/** How many of the newest rows of each term are read to see how rare it is. */
const probedRows = 64;

/**
 * The terms that every row has which is the tenant's and contains these patterns, quoted for FTS5; none if the patterns
 * say too little.
 */
export function listTerms(tenant: number, patterns: readonly string[]): string[] {
  const all = [...new Set(patterns.flatMap(listTrigrams))];
  if (all.length === 0) return [];
  const step = Math.max(1, all.length / trigramsMax);
  const some = all.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step));
  return [tenantMark(tenant), ...some].map((term) => `"${term.replaceAll('"', '""')}"`);
}

/** What a probe says of one term: how many of the newest rows it looked at, and their ids. */
export interface Probe {
  readonly term: string;
  readonly rows: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** Asks for a `Probe` of each term. */
export function probing(table: string, terms: readonly string[]): Condition {
  const one = `select ? term, count(*) rows, min(rowid) low, max(rowid) high
    from (select rowid from ${table} where ${table} match ? order by rowid desc limit ${probedRows})`;
  return { sql: terms.map(() => one).join(" union all "), args: terms.flatMap((term) => [term, term]) };
}

/**
 * The query that finds the fewest rows for what it costs: the rarest trigram, and one more if that helps, of the tenant
 * (the first term), unless it is the only one; null: there are none.
 */
export function findRarest([mark, ...trigrams]: readonly Probe[], isOnlyTenant: boolean): string | null {
  if (mark === undefined || [mark, ...trigrams].some(({ rows }) => rows === 0)) return null;
  const newest = Math.max(...[mark, ...trigrams].map(({ high }) => high ?? 0));
  const [first, second] = trigrams
    .map(({ term, rows, low }) => ({ term, share: rows / (newest - (low ?? 0) + 1) }))
    .sort((a, b) => a.share - b.share);
  const found = [
    ...(first === undefined ? [] : [first.term]),
    ...(second !== undefined && second.share < selectiveShare ? [second.term] : []),
  ];
  return [...(isOnlyTenant ? [] : [mark.term]), ...found].join(" AND ");
}

/**
 * Trigrams that every text has which contains the pattern in any case (`containing`). The index holds ASCII letters in
 * lower case and all others as they are, so others that have two cases cannot be looked for.
 */
function listTrigrams(pattern: string): string[] {
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
