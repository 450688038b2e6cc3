/** Searches texts for a pattern, ignoring case, in time that grows with the text's length alone. */
type TextSearch = (text: string) => boolean;

/** The last search, cached because one list applies it to a hundred thousand rows. */
let last: { readonly pattern: string; readonly search: TextSearch } | undefined;

/** Whether a text contains the pattern, ignoring case. */
export function containsText(text: string, pattern: string): boolean {
  if (last?.pattern !== pattern) last = { pattern, search: createTextSearch(pattern) };
  return last.search(text);
}

/** Shorter patterns are found as fast by trying every position. */
const shortPattern = 8;

function createTextSearch(pattern: string): TextSearch {
  const folded = pattern.toLowerCase();
  if (folded.length <= shortPattern) return (text) => text.toLowerCase().includes(folded);
  const borders = computeBorders(folded);
  return (text) => occurs(folded, borders, text.toLowerCase());
}

/** For each prefix of the pattern, the length of its longest border (Knuth, Morris and Pratt, 1977). */
function computeBorders(pattern: string): Uint32Array {
  const borders = new Uint32Array(pattern.length);
  for (let at = 1, length = 0; at < pattern.length; at++) {
    while (length > 0 && pattern.charCodeAt(at) !== pattern.charCodeAt(length))
      length = borders[length - 1] as number;
    if (pattern.charCodeAt(at) === pattern.charCodeAt(length)) length++;
    borders[at] = length;
  }
  return borders;
}

function occurs(pattern: string, borders: Uint32Array, text: string): boolean {
  for (let at = 0, matched = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    while (matched > 0 && pattern.charCodeAt(matched) !== character) matched = borders[matched - 1] as number;
    if (pattern.charCodeAt(matched) === character && ++matched === pattern.length) return true;
  }
  return false;
}
