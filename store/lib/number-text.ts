/**
 * Numbers as text, wherever a caller writes them: queries, bodies, device files, settings. An integer has the form that
 * JSON gives it (RFC 8259: an optional minus, no leading zero, neither fraction nor exponent). A number is decimal, as
 * people write it: a sign, a point with digits on either side, an exponent, white space around. Both patterns try each
 * character only once.
 */
const integerForm = /^-?(?:0|[1-9]\d{0,15})$/;
const numberForm = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Null for any other text, and beyond ±(2^53 − 1), where doubles no longer distinguish integers. */
export function readInteger(text: string): number | null {
  const value = integerForm.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : null;
}

/** The nearest double; null for any other text, and for numbers beyond the range of doubles. */
export function readNumber(text: string): number | null {
  const digits = text.trim();
  const value = numberForm.test(digits) ? Number(digits) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}
