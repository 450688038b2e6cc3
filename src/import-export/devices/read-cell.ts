import type { FileCell, TypedCell } from "./table-file.js";

/**
 * What a column takes: any text, an identifier (no dates or truth values), the digits of an IMEI or IMSI, a
 * number, JSON text, or JSON or else any text.
 */
export type CellKind = "text" | "identifier" | "digits" | "number" | "json" | "jsonOrText";

/** By field or column, what is wrong with it. */
export type FieldErrors = Record<string, string>;

type Content = string | boolean | TypedCell;
type Reading = { readonly value: unknown } | { readonly fault: string };

/** The value that a create takes for the field `name`; undefined if the cell is wrong, which is noted in `errors`. */
export function readCell(cell: Content, kind: CellKind, name: string, errors: FieldErrors): unknown {
  const reading = read(cell, kind);
  if ("value" in reading) return reading.value;
  errors[name] = reading.fault;
  return undefined;
}

/** As it stands in the file, for titles. */
export function readCellText(cell: FileCell): string {
  if (cell === null) return "";
  return typeof cell === "object" ? cell.text : String(cell);
}

function read(cell: Content, kind: CellKind): Reading {
  if (typeof cell === "object" && cell.kind === "error") {
    return { fault: `holds the spreadsheet's error ${cell.text.slice(0, 20)}` };
  }
  if (typeof cell === "object" && cell.kind === "formula") {
    return { fault: "holds a formula without its result: save the file in a spreadsheet program" };
  }
  return readers[kind](cell);
}

const remedy = "format the column as text";
/** As spreadsheets show a long number; the other digits are lost. */
const scientific = /^\d(?:[.,]\d+)?E\+\d{2,3}$/i;
const scientificFault = `is a number whose digits are lost: ${remedy}`;

const readers: Readonly<Record<CellKind, (cell: Content) => Reading>> = {
  text: (cell) => {
    if (isNumber(cell)) return readDigits(cell.text);
    const text = readCellText(cell);
    return scientific.test(text) ? { fault: scientificFault } : { value: text };
  },
  identifier: (cell) => {
    if (typeof cell === "boolean") return { fault: `is TRUE or FALSE, no text: ${remedy}` };
    if (typeof cell === "object" && cell.kind === "date") return { fault: `is a date, no text: ${remedy}` };
    return readers.text(cell);
  },
  digits: (cell) => {
    if (!isNumber(cell)) return readers.identifier(cell);
    const reading = isIntact(cell.text) ? { value: cell.text } : readDigits(cell.text);
    if ("value" in reading && !/^\d{14,16}$/.test(String(reading.value))) {
      return { fault: `must be 14 to 16 whole digits: ${remedy}` };
    }
    return reading;
  },
  number: (cell) => {
    if (typeof cell === "boolean") return { value: Number(cell) };
    const text = readCellText(cell);
    if (isNumber(cell)) return { value: Number(text) };
    return {
      value: typeof cell === "object" && cell.kind === "decimalComma" ? text.replace(",", ".") : text,
    };
  },
  json: (cell) => readJson(cell) ?? { fault: "must be JSON" },
  jsonOrText: (cell) => readJson(cell) ?? { value: readCellText(cell) },
};

function isNumber(cell: Content): cell is TypedCell & { readonly kind: "number" } {
  return typeof cell === "object" && cell.kind === "number";
}

/** Significant digits that spreadsheets keep; they replace others by zeros. */
const digitsMax = 15;

/** All digits of a number of a workbook; the fault of one that has more than spreadsheets keep. */
function readDigits(text: string): Reading {
  // Programs write 1.1 as 1.1000000000000001: the shortest decimal that is the same double is what they show.
  const plain = /^\d+$/.test(text) ? text : String(Number(text));
  const significant = plain.replaceAll(/[-.]/g, "").replace(/^0+/, "");
  if (plain.includes("e-")) return { fault: `is a number in scientific form, ${plain}: ${remedy}` };
  if (!plain.includes("e") && significant.length <= digitsMax) return { value: plain };
  return { fault: `is a number of more than ${digitsMax} digits, which spreadsheets do not keep: ${remedy}` };
}

/** An IMEISV of 16 digits that no spreadsheet has cut: it would end in 0. */
function isIntact(text: string): boolean {
  return /^\d{15}[1-9]$/.test(text) && Number.isSafeInteger(Number(text));
}

function readJson(cell: Content): Reading | null {
  if (typeof cell === "boolean") return { value: cell };
  if (isNumber(cell)) return { value: Number(cell.text) };
  try {
    return { value: JSON.parse(readCellText(cell)) as unknown };
  } catch {
    return null;
  }
}
