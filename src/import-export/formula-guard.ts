/**
 * Spreadsheets run a CSV cell that begins like a formula (OWASP, "CSV Injection"). Such a text, even one that already
 * has apostrophes before the formula, is written with one more apostrophe in front, which reading removes again, so
 * that every text reads back as it was.
 */
const formula = /^'*[=+\-@\t\r]/;

export function guardFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unguardFormula(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text;
}
