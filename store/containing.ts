import type { Statement } from "./sql.js";

/** Beyond it a pattern might be longer than SQLite takes (50,000 bytes). No stored name or text is that long. */
const patternLengthMax = 4096;

/** The condition that an SQL expression contains `text`, in whatever case. `%`, `_` and the like stand for themselves. */
export function containing(column: string, text: string): Statement {
  // LIKE and lower() fold the case of ASCII alone, which serves texts that have no other case, Chinese among them.
  if (text.length > patternLengthMax) {
    return { sql: `instr(lower(${column}), lower(?)) > 0`, args: [text] };
  }
  const characters = [...text];
  if (characters.some((one) => one > "\u007f" && casesOf(one).size > 1)) {
    return { sql: `${column} glob ?`, args: [`*${characters.map(globClass).join("")}*`] };
  }
  return { sql: `${column} like ? escape '\\'`, args: [`%${text.replaceAll(/[%_\\]/g, "\\$&")}%`] };
}

/** A class of GLOB that takes the character in either case, itself where it has a meaning of its own. */
function globClass(character: string): string {
  const cases = casesOf(character);
  return cases.size === 1 && !/[*?[]/.test(character) ? character : `[${[...cases].join("")}]`;
}

/** The character and its other case, unless that is more than one character, as of ß. */
function casesOf(character: string): Set<string> {
  const all = [character, character.toLowerCase(), character.toUpperCase()];
  return new Set(all.filter((one) => [...one].length === 1));
}
