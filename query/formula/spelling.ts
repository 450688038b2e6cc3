/** What people write from other languages, spreadsheets and input methods, and what formulas have for it. */

/** Misspelled signs; the first that is found is reported. A right spelling of null: the sign's half-width form. */
const signs: readonly (readonly [written: RegExp, right: string | null])[] = [
  [/\*\*/, "^"],
  [/&&|＆+/, "and"],
  [/\|\||｜+/, "or"],
  [/!==|<>|≠|！＝/, "!="],
  [/===|＝+/, "=="],
  [/=<|≤|≦|＜＝/, "<="],
  [/=>|≥|≧|＞＝/, ">="],
  [/!(?!=)|！|¬/, "not"],
  [/[×✕⋅∙·•]/, "*"],
  [/÷/, "/"],
  [/[−–—]/, "-"],
  [/²/, "^2"],
  [/³/, "^3"],
  [/√/, "sqrt( )"],
  [/[πΠ]/, "pi"],
  [/[（）［］【】]/, "( )"],
  [/[、，]/, ","],
  [/[。．]/, "."],
  [/\u3000/, "a plain space"],
  // The other wide forms of ASCII.
  [/[\uff01-\uff5e]/, null],
  [/\bMath\s*\./, "functions without Math."],
];

interface Misspelling {
  /** From 0. */
  readonly index: number;
  readonly message: string;
}

/** The first sign of these that stands in the text; null: none. */
export function findMisspelling(text: string): Misspelling | null {
  let first: Misspelling | null = null;
  for (const [written, right] of signs) {
    const found = written.exec(text);
    if (found === null || (first !== null && first.index <= found.index)) continue;
    const [sign] = found;
    const halfWidth = right ?? String.fromCharCode(sign.charCodeAt(0) - 0xfee0);
    first = { index: found.index, message: suggestReplacement(halfWidth, sign) };
  }
  return first;
}

const names: ReadonlyMap<string, string> = new Map([
  ["ln", "log(x)"],
  ["lg", "log10(x)"],
  ["power", "x ^ y"],
  ["root", "nthRoot(x, n)"],
  ["trunc", "fix(x)"],
  ["truncate", "fix(x)"],
  ["int", "fix(x)"],
  ["ceiling", "ceil(x)"],
  ["sgn", "sign(x)"],
  ["arcsin", "asin(x)"],
  ["arccos", "acos(x)"],
  ["arctan", "atan(x)"],
  ["arctan2", "atan2(y, x)"],
  ["tg", "tan(x)"],
  ["if", "condition ? x : y"],
  ["iif", "condition ? x : y"],
  ["isnull", "x ?? y"],
  ["ifnull", "x ?? y"],
  ["coalesce", "x ?? y"],
  ["none", "null"],
  ["nil", "null"],
]);

/** What to write in place of a name that formulas do not have, as the end of a sentence; empty where that is not known. */
export function rightName(name: string, isKnown: (name: string) => boolean): string {
  const lower = name.toLowerCase();
  const right = names.get(lower) ?? (lower !== name && isKnown(lower) ? lower : undefined);
  return right === undefined ? "" : `; ${suggestReplacement(right, name)}`;
}

const suggestReplacement = (right: string, written: string): string =>
  `write ${right} in place of ${written}`;
