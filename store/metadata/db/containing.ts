import type { Statement } from "./sql.js";

/** Characters of a `_like`: what it takes to look for one grows with them. */
export const patternCharactersMax = 256;

/** Replacements of one stage: SQLite's parser takes no deeper nesting than some twenty. */
const stageReplacements = 8;

/**
 * The condition that an SQL expression contains `text`, in whatever case. `%`, `_` and the like stand for themselves.
 * Both are folded and then compared byte by byte: LIKE and GLOB try every place of the text with the whole pattern.
 */
export function containing(column: string, text: string): Statement {
  // lower() folds ASCII alone, which serves texts that have no other case, Chinese among them; the letters beyond it
  // are folded where the pattern has them.
  const replacements = [...foldings(text)];
  if (replacements.length === 0) {
    return { sql: `instr(lower(${column}), lower(?)) > 0`, args: [text] };
  }
  const stages: string[] = [`s0(x) as (select lower(${column}))`];
  for (let at = 0; at < replacements.length; at += stageReplacements) {
    const some = replacements.slice(at, at + stageReplacements);
    const folded = some.reduce((inner) => `replace(${inner}, ?, ?)`, "x");
    stages.push(`s${stages.length}(x) as (select ${folded} from s${stages.length - 1})`);
  }
  const folds = new Map(replacements);
  const pattern = [...text].map((one) => folds.get(one) ?? one).join("");
  return {
    sql: `(with ${stages.join(", ")} select instr(x, lower(?)) from s${stages.length - 1}) > 0`,
    args: [...replacements.flat(), pattern],
  };
}

/** The other forms of the pattern's letters beyond ASCII, and what each is folded to. */
function foldings(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const one of new Set(text)) {
    if (one <= "\u007f") continue;
    const folded = single(single(one, "toUpperCase"), "toLowerCase");
    for (const form of [one, single(one, "toLowerCase"), single(one, "toUpperCase")])
      if (form !== folded && form > "\u007f") found.set(form, folded);
  }
  return found;
}

/** The character in that case, unless it is more than one there, as ß is. */
function single(character: string, to: "toLowerCase" | "toUpperCase"): string {
  const other = character[to]();
  return [...other].length === 1 ? other : character;
}
