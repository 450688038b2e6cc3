import { createReadStream, createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CsvError, parse } from "csv-parse";
import { stringify } from "csv-stringify/sync";
import { guardClaim } from "../../http/disk-space.js";
import { isDecimalComma, readDialect } from "../csv-dialect.js";
import { FormatError } from "../format-error.js";
import { guardFormula, unguardFormula } from "../formula-guard.js";
import { detectEncoding } from "../text-encoding.js";
import {
  type Cell,
  cellErrors,
  columnsMax,
  type FileCell,
  type FileRow,
  rowCharactersMax,
  type TableFormat,
} from "./table-file.js";

/**
 * RFC 4180 in UTF-8; UTF-16 is read too. Written with a byte order mark, without which Excel reads the bytes in the local
 * code page.
 */
export const csvFile: TableFormat = {
  type: "text/csv; charset=utf-8",
  extension: "csv",
  write: async (path, header, rows, room) => {
    const through = room === undefined ? [] : [guardClaim(room)];
    await pipeline([Readable.from(lines(header, rows)), ...through, createWriteStream(path)]);
  },
  read: readCsv,
};

const byteOrderMark = "\uFEFF";
const rowsPerChunk = 200;

async function* lines(
  header: readonly string[],
  rows: AsyncIterable<readonly Cell[]>,
): AsyncGenerator<string> {
  yield byteOrderMark + toCsv([header]);
  let some: Cell[][] = [];
  for await (const row of rows) {
    some.push(row.map((cell) => (typeof cell === "string" ? guardFormula(cell) : cell)));
    if (some.length < rowsPerChunk) continue;
    yield toCsv(some);
    some = [];
  }
  yield toCsv(some);
}

function toCsv(rows: readonly (readonly Cell[])[]): string {
  return stringify(rows as Cell[][], {
    record_delimiter: "\r\n",
    // A lone carriage return or newline ends a record for many readers.
    quoted_match: /[\r\n]/,
    cast: { boolean: (value) => (value ? "1" : "0") },
  });
}

async function* readCsv(path: string): AsyncGenerator<FileRow> {
  const texts = decoded(path);
  const first = await texts.next();
  const start = first.done === true ? "" : first.value.replace(/^\uFEFF/, "");
  const { delimiter, decimalComma, skip } = readDialect(start);
  const parser = parse({
    delimiter,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    max_record_size: rowCharactersMax,
  });
  const source = Readable.from(joined(start.slice(skip), texts));
  source.once("error", (error) => parser.destroy(error));
  source.pipe(parser);
  let number = 0;
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      number++;
      if (record.length > columnsMax)
        throw new FormatError(`row ${number} has more than ${columnsMax} columns`);
      yield { number, cells: record.map((cell) => readCell(cell, decimalComma)) };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new FormatError(`the CSV cannot be read after row ${number}: ${error.message}`, { cause: error });
  } finally {
    source.destroy();
    parser.destroy();
  }
}

function readCell(text: string, decimalComma: boolean): FileCell {
  if (text === "") return null;
  if (cellErrors.has(text)) return { kind: "error", text };
  if (decimalComma && isDecimalComma(text)) return { kind: "decimalComma", text };
  return unguardFormula(text);
}

async function* joined(start: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield start;
  yield* rest;
}

/** The file's text, its byte order mark included. */
async function* decoded(path: string): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  const decode = (chunk: Uint8Array, stream: boolean): string => {
    decoder ??= new TextDecoder(detectEncoding(chunk), { fatal: true, ignoreBOM: true });
    try {
      const text = decoder.decode(chunk, { stream });
      if (text.includes("\0")) throw new TypeError("NUL");
      return text;
    } catch (error) {
      throw new FormatError("the file is neither an xlsx workbook nor CSV in UTF-8 or UTF-16", {
        cause: error,
      });
    }
  };
  for await (const chunk of createReadStream(path)) yield decode(chunk as Uint8Array, true);
  yield decode(new Uint8Array(), false);
}
