/**
 * The parser of mathjs 15 takes a sign or `not` after every operator but `??`, which binds tightest of all. After `??`,
 * the signed operand is put in parentheses before the text is parsed.
 */

/** A text for the parser, and the original columns of its characters. */
interface SignedText {
  readonly text: string;
  /** The column in the original text of a column of `text`, both from 1. */
  columnOf(column: number): number;
}

const coalescing = /\?\?\s*(?=[-+~]|not(?![\p{L}\p{N}_$]))/gu;
const signs = /(?:(?:[-+~]|not(?![\p{L}\p{N}_$]))\s*)+/uy;
const number = /0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y;
const name = /[\p{L}_$][\p{L}\p{N}_$]*(\s*\()?/uy;

export function encloseSigned(text: string): SignedText {
  /** Indexes in the text at which a parenthesis is inserted, with the parenthesis. */
  const inserted: { readonly at: number; readonly mark: "(" | ")" }[] = [];
  for (const { index, 0: operator } of text.matchAll(coalescing)) {
    const from = index + operator.length;
    const end = operandEnd(text, from);
    if (end > from) inserted.push({ at: from, mark: "(" }, { at: end, mark: ")" });
  }
  inserted.sort((a, b) => a.at - b.at);
  let enclosed = "";
  let copied = 0;
  for (const { at, mark } of inserted) {
    enclosed += text.slice(copied, at) + mark;
    copied = at;
  }
  return {
    text: enclosed + text.slice(copied),
    columnOf: (column) => {
      let before = 0;
      // The n-th parenthesis is at its index plus the n inserted before it.
      while (before < inserted.length && (inserted[before]?.at ?? 0) + before < column - 1) before++;
      return column - before;
    },
  };
}

/** The offset after the signs and the number, name, call or parenthesis that follows them; `from` if none follows. */
function operandEnd(text: string, from: number): number {
  const operand = findMatchEnd(signs, text, from);
  const digits = findMatchEnd(number, text, operand);
  if (digits > operand) return digits;
  name.lastIndex = operand;
  const named = name.exec(text);
  const opened = named?.[1] === undefined ? -1 : name.lastIndex - 1;
  if (named !== null && opened < 0) return name.lastIndex;
  const closed = text[operand] === "(" ? closing(text, operand) : opened < 0 ? -1 : closing(text, opened);
  return closed < 0 ? from : closed + 1;
}

function findMatchEnd(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

function closing(text: string, opened: number): number {
  let depth = 0;
  for (let at = opened; at < text.length; at++) {
    if (text[at] === "(") depth++;
    if (text[at] === ")" && --depth === 0) return at;
  }
  return -1;
}
