/** The small conventions of spreadsheet cells (ECMA-376 part 1, 18.3.1.4 and 22.9.2.19). */

/** 0 → A, 26 → AA. */
export function columnName(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}

/** `BC12` → 54; null if the text is no reference. */
export function columnIndex(reference: string): number | null {
  const letters = /^([A-Z]{1,3})\d*$/.exec(reference)?.[1];
  if (letters === undefined) return null;
  let index = 0;
  for (const letter of letters) index = index * 26 + letter.charCodeAt(0) - 64;
  return index - 1;
}

const markup: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no form for them
const beyondXml = /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[0-9a-fA-F]{4}_)/g;

/** A text as XML; characters that XML lacks or would change are written `_xHHHH_`. */
export function escapeText(text: string): string {
  return text
    .replace(beyondXml, (one) => `_x${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`)
    .replace(/[&<>"]/g, (one) => markup[one] ?? one);
}

export function unescapeText(text: string): string {
  if (!text.includes("_x")) return text;
  return text.replace(/_x([0-9a-fA-F]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

const dayMs = 86_400_000;
/** Day 0 of a workbook's calendar; the older one counts a 29 February 1900 that never was, so it begins a day early. */
const epochs = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) } as const;

/** The days of a date cell as `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`; null outside the calendar. */
export function dateText(days: number, since1904: boolean): string | null {
  const seconds = Math.round(((since1904 ? epochs[1904] : epochs[1900]) + days * dayMs) / 1000);
  const date = new Date(seconds * 1000);
  if (days < 0 || Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999) return null;
  const iso = date.toISOString();
  return Number.isInteger(days) ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** Whether a number format shows dates: built in ones by number, own ones by the letters outside quotes. */
export function isDateFormat(id: number, format: string | undefined): boolean {
  if (format === undefined) return (id >= 14 && id <= 22) || (id >= 45 && id <= 47);
  const bare = format.replaceAll(/"[^"]*"|\\.|\[(?!h|m|s)[^[\]]*\]|_./gi, "");
  return /[dmyhs]/i.test(bare) && !/general/i.test(bare);
}

/** The digits to which a format of zeros alone, such as `00000`, fills a whole number up; 0 for any other format. */
export function leadingZeros(format: string | undefined): number {
  return format !== undefined && /^0{2,64}$/.test(format) ? format.length : 0;
}
