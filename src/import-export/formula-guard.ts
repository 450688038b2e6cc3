/**
 * Spreadsheets run a CSV cell that begins like a formula (OWASP, "CSV Injection"). Such texts are written
 * with an apostrophe in front, which reading removes again; an apostrophe that is already there is doubled,
 * so that every text comes back as it was.
 */
const formula = /^'*[=+\-@\t\r]/;

export function guardFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

export function unguardFormula(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text;
}
