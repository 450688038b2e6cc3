import { readNumber } from "../../../store/lib/number-text.js";
import { FormatError } from "../format-error.js";
import {
  cellCharactersMax,
  columnsMax,
  type FileCell,
  type FileRow,
  rowCharactersMax,
  type TableFormat,
} from "./table-file.js";
import { columnIndex, dateText, unescapeText } from "./xlsx-cells.js";
import { openPackage, readWorkbook, type Workbook, type XlsxPackage } from "./xlsx-package.js";
import { createSharedStrings, type SharedStrings } from "./xlsx-strings.js";
import { writeXlsx } from "./xlsx-writer.js";
import { readXml, xmlEvents } from "./xml-events.js";

/** The first visible sheet of an Office Open XML workbook (ECMA-376). */
export const xlsxFile: TableFormat = {
  type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  extension: "xlsx",
  write: (path, header, rows, room) => writeXlsx(path, { name: "devices", header, rows }, room),
  read: readSheet,
};

const sheetBytesMax = 1024 * 1024 * 1024;
const sharedStringsBytesMax = 128 * 1024 * 1024;
/** One shared text may be in every cell of a file of a few bytes. */
const sheetCharactersMax = 512 * 1024 * 1024;

async function* readSheet(path: string): AsyncGenerator<FileRow> {
  const zip = await openPackage(path);
  try {
    const workbook = await readWorkbook(zip);
    const strings = await readStrings(zip, workbook.sharedStrings);
    const rows: FileRow[] = [];
    const handlers = sheetHandlers(workbook, strings, (row) => rows.push(row));
    for await (const _ of xmlEvents(await zip.open(workbook.sheet, sheetBytesMax), handlers)) {
      void _;
      yield* rows.splice(0);
    }
  } finally {
    zip.close();
  }
}

/** Appends bounded pieces of a text. */
function createText() {
  let text = "";
  return {
    add: (piece: string) => {
      text += piece;
      if (text.length > cellCharactersMax) {
        throw new FormatError(`a cell holds more than ${cellCharactersMax} characters`);
      }
    },
    take: () => {
      const taken = text;
      text = "";
      return taken;
    },
  };
}

async function readStrings(zip: XlsxPackage, name: string | null): Promise<SharedStrings> {
  if (name === null) return createSharedStrings(0);
  const source = await zip.open(name, sharedStringsBytesMax);
  const strings = createSharedStrings(zip.bytesOf(name));
  const text = createText();
  let wanted = false;
  let phonetic = false;
  await readXml(source, {
    open: (tag) => {
      if (tag === "rPh") phonetic = true;
      wanted = tag === "t" && !phonetic;
    },
    text: (piece) => {
      if (wanted) text.add(piece);
    },
    close: (tag) => {
      wanted = false;
      if (tag === "rPh") phonetic = false;
      if (tag === "si") strings.add(unescapeText(text.take()));
    },
  });
  return strings;
}

interface RawCell {
  readonly column: number;
  readonly type: string;
  readonly style: number;
  readonly formula: boolean;
}

function sheetHandlers(workbook: Workbook, strings: SharedStrings, take: (row: FileRow) => void) {
  const text = createText();
  let number = 0;
  let cells: FileCell[] = [];
  let cell: RawCell | null = null;
  let column = -1;
  let wanted = false;
  let phonetic = false;
  let rowCharacters = 0;
  let sheetCharacters = 0;
  function measure({ length }: string): void {
    rowCharacters += length;
    sheetCharacters += length;
    if (rowCharacters > rowCharactersMax)
      throw new FormatError(`row ${number} holds more than ${rowCharactersMax} characters`);
    if (sheetCharacters > sheetCharactersMax)
      throw new FormatError(`the sheet holds more than ${sheetCharactersMax} characters`);
  }
  return {
    open: (tag: string, attributes: Readonly<Record<string, string>>) => {
      wanted = cell !== null && !phonetic && (tag === "v" || tag === "t");
      if (tag === "row") {
        number = rowNumber(attributes.r, number);
        cells = [];
        rowCharacters = 0;
        column = -1;
      } else if (tag === "c") {
        column = columnIndex(attributes.r ?? "") ?? column + 1;
        cell = { column, type: attributes.t ?? "n", style: Number(attributes.s ?? 0), formula: false };
        text.take();
      } else if (tag === "f" && cell !== null) cell = { ...cell, formula: true };
      else if (tag === "rPh") phonetic = true;
    },
    text: (piece: string) => {
      if (wanted) text.add(piece);
    },
    close: (tag: string) => {
      wanted = false;
      if (tag === "rPh") phonetic = false;
      else if (tag === "row") take({ number, cells, sheet: workbook.sheetName });
      else if (tag === "c" && cell !== null) {
        const content = cell.type === "s" ? strings.get(Number(text.take() || -1)) : text.take();
        measure(content);
        place(cells, cell, cellValue(cell, content, workbook), number);
        cell = null;
      }
    },
  };
}

function rowNumber(text: string | undefined, before: number): number {
  if (text === undefined) return before + 1;
  const number = Number(text);
  if (!Number.isInteger(number) || number <= before)
    throw new FormatError("the sheet's rows are not in order");
  return number;
}

function place(cells: FileCell[], { column }: RawCell, value: FileCell, number: number): void {
  if (value === null) return;
  if (column >= columnsMax) throw new FormatError(`row ${number} has more than ${columnsMax} columns`);
  while (cells.length <= column) cells.push(null);
  cells[column] = value;
}

function cellValue(cell: RawCell, text: string, workbook: Workbook): FileCell {
  const { type } = cell;
  // Programs that write formulas without computing them leave the result to the next spreadsheet.
  if (text === "")
    return cell.formula && type !== "inlineStr" && type !== "str" ? { kind: "formula", text } : null;
  // A shared text was read once, however many cells have it.
  if (type === "s") return text;
  if (type === "inlineStr" || type === "str") return unescapeText(text);
  if (type === "b") return text === "1" || text === "true";
  if (type === "e") return { kind: "error", text };
  if (type === "d") return { kind: "date", text };
  if (type !== "n") return text;
  const value = readNumber(text);
  if (value === null) return text;
  const style = workbook.styles[cell.style];
  const date = style?.isDate === true ? dateText(value, workbook.since1904) : null;
  if (date !== null) return { kind: "date", text: date };
  return { kind: "number", text: padded(text, style?.digitsMin ?? 0) };
}

/** A whole number as its format shows it: `0000` shows 12 as 0012. */
function padded(text: string, digitsMin: number): string {
  return /^\d+$/.test(text) ? text.padStart(digitsMin, "0") : text;
}
