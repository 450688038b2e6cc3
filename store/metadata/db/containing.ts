import type { Condition, Statement } from "./sql.js";

/** Characters of a `_like`: the search takes longer the more there are. */
export const patternCharactersMax = 256;

/** Replacements in one stage: SQLite's parser takes no more than some twenty levels of nesting. */
const stageReplacements = 8;

/**
 * The condition that an SQL expression contains `text`, in any case. `%`, `_` and the like stand for themselves. Both
 * texts are folded and then compared byte by byte, because LIKE and GLOB try the whole pattern at every position of the
 * text.
 */
export function containing(column: string, text: string): Statement {
  const { sql, args } = formatPosition(column, text);
  return { sql: `${sql} > 0`, args };
}

/** Where in an SQL expression `text` begins, from 1; 0 if it is not there. An expression, compared as `containing` does. */
export function formatPosition(column: string, text: string): Condition {
  // lower() folds only ASCII, which is enough for texts without other cases, such as Chinese ones; letters beyond ASCII
  // are folded if the pattern has them.
  const replacements = [...foldings(text)];
  if (replacements.length === 0) {
    return { sql: `instr(lower(${column}), lower(?))`, args: [text] };
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
    sql: `(with ${stages.join(", ")} select instr(x, lower(?)) from s${stages.length - 1})`,
    args: [...replacements.flat(), pattern],
  };
}

/** The other forms of the pattern's letters beyond ASCII, and the form that each is folded to. */
export function foldings(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const one of new Set(text)) {
    if (one <= "\u007f") continue;
    const folded = single(single(one, "toUpperCase"), "toLowerCase");
    for (const form of [one, single(one, "toLowerCase"), single(one, "toUpperCase")])
      if (form !== folded && form > "\u007f") found.set(form, folded);
  }
  return found;
}

/** The character in that case, unless it has more than one character there, as ß does. */
function single(character: string, to: "toLowerCase" | "toUpperCase"): string {
  const other = character[to]();
  return [...other].length === 1 ? other : character;
}
