/** Reads Flux answers in CSV into rows of numbers as bytes arrive, without an object or a string for each row. */
import { StoreError } from "../../lib/errors.js";
import { createSlice } from "../../lib/scheduling.js";
import type { Columns, Kind } from "../series.js";

export type RowSink = (time: number, value: number | string) => void;

const comma = 44;
const hash = 35;
const lineFeed = 10;
const carriageReturn = 13;
const point = 46;
const quote = 34;
const zero = 48;
const minus = 45;
const digitsExactMax = 15;
const powersOfTen = Array.from({ length: digitsExactMax + 1 }, (_, n) => 10 ** n);

/**
 * Calls `sink` for each row of `chunks`, an answer with a header and without annotations whose last two columns are a
 * time and `_value`. Times are floored to microseconds; booleans are 1 and 0; Flux encodes texts as JSON, so they never
 * hold a line break. Ends the answer once `isEnough`.
 * @throws StoreError UNAVAILABLE when the answer ends in an error of the engine; ForeignValue
 */
export function parseRows(
  chunks: AsyncIterable<Uint8Array>,
  kind: Kind,
  sink: RowSink,
  isEnough: () => boolean = () => false,
): Promise<void> {
  return readLines(chunks, createRowParser(kind, sink), isEnough);
}

/** Where the rows of one field go. */
interface FieldSink {
  readonly kind: Kind;
  readonly add: RowSink;
  /** Called instead for rows whose values are of another type. */
  readonly onForeign: (error: ForeignValue) => void;
}

/**
 * As `readRows`, for an answer that also has the column `_field` and whose tables may be of several kinds. `sinkOf` is
 * asked where a field's rows begin, and answers null for a field whose rows are passed over.
 * @throws StoreError UNAVAILABLE when the answer ends in an error of the engine
 */
export function readFieldRows(
  chunks: AsyncIterable<Uint8Array>,
  sinkOf: (field: string) => FieldSink | null,
): Promise<void> {
  return readLines(chunks, createFieldParser(sinkOf), () => false);
}

type LineParser = (bytes: Buffer, start: number, end: number) => void;

async function readLines(
  chunks: AsyncIterable<Uint8Array>,
  parse: LineParser,
  isEnough: () => boolean,
): Promise<void> {
  let rest: Buffer | undefined;
  const slice = createSlice();
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const whole: Buffer = rest ? Buffer.concat([rest, bytes]) : bytes;
    let start = 0;
    for (;;) {
      const end = whole.indexOf(lineFeed, start);
      if (end < 0) break;
      parse(whole, start, end > start && whole[end - 1] === carriageReturn ? end - 1 : end);
      start = end + 1;
    }
    if (isEnough()) return;
    rest = start < whole.length ? whole.subarray(start) : undefined;
    // Chunks that have already arrived come one after another without a turn of the event loop.
    if (slice.isOver()) await slice.next();
  }
  if (rest) parse(rest, 0, rest.length);
}

/** Columns that grow by rows in ascending order; of rows with equal times the last one stays. */
export function createColumns(kind: Kind): { add: RowSink; columns(): Columns; isFull(): boolean } {
  let times = new Float64Array(1024);
  let numbers = new Float64Array(kind === "text" ? 0 : 1024);
  const texts: string[] = [];
  let length = 0;
  const add: RowSink = (time, value) => {
    const last = times[length - 1] ?? Number.NEGATIVE_INFINITY;
    if (length > 0 && time < last) throw new StoreError("CORRUPT", "cannot read points: out of order");
    if (length === 0 || time !== last) length += 1;
    if (length > times.length) {
      times = grown(times);
      if (kind !== "text") numbers = grown(numbers);
    }
    times[length - 1] = time;
    if (typeof value === "string") texts[length - 1] = value;
    else numbers[length - 1] = value;
  };
  const columns = (): Columns =>
    kind === "text"
      ? { kind, times: times.slice(0, length), values: texts }
      : { kind, times: times.slice(0, length), values: numbers.slice(0, length) };
  return { add, columns, isFull: () => false };
}

/** The key, in a record, of the datatype of `_value`, where the answer gives it. */
export const valueType = "#datatype";

/** A small answer as records, one a row, by the column names of the header above it. */
export function parseRecords(csv: string): Record<string, string>[] {
  const records: Record<string, string>[] = [];
  let names: string[] | undefined;
  let types: string[] = [];
  for (const line of csv.split(/\r?\n/)) {
    const cells = line === "" ? undefined : splitCells(line);
    if (cells?.[0] === "#datatype") {
      types = cells;
      names = undefined;
      continue;
    }
    if (!cells || !names) {
      names = cells;
      continue;
    }
    const record = Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ""]));
    if (record.error) throw engineError(record.error);
    const type = types[names.indexOf("_value")];
    records.push(type === undefined ? record : { ...record, [valueType]: type });
  }
  return records;
}

/** RFC 3339 in UTC to microseconds; nanoseconds are floored. */
export function parseTime(text: string): number {
  const bytes = Buffer.from(text, "latin1");
  return createTimeParser()(bytes, 0, bytes.length);
}

function createRowParser(kind: Kind, sink: RowSink): LineParser {
  const parseTimeText = createTimeParser();
  const text = kind === "text";
  let headerNext = true;
  let failed = false;
  let datatype = "";
  return (bytes, start, end) => {
    if (start === end) {
      headerNext = true;
      return;
    }
    if (headerNext && bytes[start] === hash) {
      datatype = lastCell(bytes.toString("latin1", start, end));
      return;
    }
    if (headerNext) {
      failed = checkHeader(bytes.toString("latin1", start, end));
      headerNext = false;
      if (!failed) checkType(kind, datatype);
      return;
    }
    if (failed) throw engineError(bytes.toString("utf8", start, end));
    const timeAt = cellStart(bytes, start, end);
    const valueAt = bytes.indexOf(comma, timeAt) + 1;
    const time = parseTimeText(bytes, timeAt, valueAt - 1);
    sink(time, text ? parseText(bytes.toString("utf8", valueAt, end)) : parseNumber(bytes, valueAt, end));
  };
}

/** True where an error of the engine follows, which may also come after good rows. */
function checkHeader(header: string, expected = /^,result,table,(_time|_start),_value$/): boolean {
  if (/(^|,)error,reference/.test(header)) return true;
  if (expected.test(header)) return false;
  throw new StoreError("CORRUPT", `cannot read InfluxDB's answer: columns "${header}"`);
}

/** The field comes before the time or after the value: field names hold no comma. */
const fieldHeader = /^,result,table,(_field,_time,_value|_time,_value,_field)$/;

function createFieldParser(sinkOf: (field: string) => FieldSink | null): LineParser {
  const parseTimeText = createTimeParser();
  let headerNext = true;
  let failed = false;
  let fieldFirst = false;
  let datatypes: string[] = [];
  let current = Buffer.alloc(0);
  let sink: FieldSink | null = null;

  function begin(field: Buffer): void {
    current = Buffer.from(field);
    sink = sinkOf(field.toString("utf8"));
    if (sink === null) return;
    try {
      checkType(sink.kind, datatypes.at(fieldFirst ? -1 : -2) ?? "");
    } catch (error) {
      passOver(sink, error);
    }
  }

  /** Rows of other fields are still read. */
  function passOver(fieldSink: FieldSink, error: unknown): void {
    if (!(error instanceof ForeignValue)) throw error;
    fieldSink.onForeign(error);
    sink = null;
  }

  function addText(to: FieldSink, time: number, cell: string): void {
    let value: string;
    try {
      value = parseText(cell); // of any type: Flux has made JSON strings of all of them
    } catch (error) {
      return passOver(to, error);
    }
    to.add(time, value);
  }

  return (bytes, start, end) => {
    if (start === end) {
      headerNext = true;
      return;
    }
    if (headerNext && bytes[start] === hash) {
      datatypes = bytes.toString("latin1", start, end).split(",");
      return;
    }
    if (headerNext) {
      const header = bytes.toString("latin1", start, end);
      failed = checkHeader(header, fieldHeader);
      fieldFirst = header.endsWith("_value");
      headerNext = false;
      current = Buffer.alloc(0);
      return;
    }
    if (failed) throw engineError(bytes.toString("utf8", start, end));
    const cells = cellStart(bytes, start, end);
    const fieldAt = fieldFirst ? cells : bytes.lastIndexOf(comma, end - 1) + 1;
    const fieldEnd = fieldFirst ? bytes.indexOf(comma, cells) : end;
    const timeAt = fieldFirst ? fieldEnd + 1 : cells;
    const valueAt = bytes.indexOf(comma, timeAt) + 1;
    const valueEnd = fieldFirst ? end : fieldAt - 1;
    const isSame =
      current.length === fieldEnd - fieldAt &&
      bytes.compare(current, 0, current.length, fieldAt, fieldEnd) === 0;
    if (!isSame) begin(bytes.subarray(fieldAt, fieldEnd));
    if (sink === null) return;
    const time = parseTimeText(bytes, timeAt, valueAt - 1);
    if (sink.kind === "text") addText(sink, time, bytes.toString("utf8", valueAt, valueEnd));
    else sink.add(time, parseNumber(bytes, valueAt, valueEnd));
  };
}

/** The offset after the empty annotation, result and table cells. */
function cellStart(bytes: Buffer, start: number, end: number): number {
  let commas = 0;
  let at = start;
  while (at < end && commas < 3) {
    if (bytes[at] === comma) commas += 1;
    at += 1;
  }
  return at;
}

/** Remembers the day, which successive rows mostly share. */
function createTimeParser(): (bytes: Buffer, start: number, end: number) => number {
  let dayDigits = -1;
  let dayMicros = 0;
  const two = (bytes: Buffer, at: number) => ((bytes[at] ?? 0) - zero) * 10 + (bytes[at + 1] ?? 0) - zero;
  return (bytes, start, end) => {
    const year = two(bytes, start) * 100 + two(bytes, start + 2);
    const month = two(bytes, start + 5);
    const day = two(bytes, start + 8);
    const digits = (year * 100 + month) * 100 + day;
    if (digits !== dayDigits) {
      dayDigits = digits;
      dayMicros = Date.UTC(year, month - 1, day) * 1000;
    }
    const seconds = (two(bytes, start + 11) * 60 + two(bytes, start + 14)) * 60 + two(bytes, start + 17);
    let micros = 0;
    let scale = 100_000;
    if (bytes[start + 19] === point) {
      for (let at = start + 20; at < end - 1 && scale >= 1; at += 1, scale /= 10) {
        micros += ((bytes[at] ?? zero) - zero) * scale;
      }
    }
    return dayMicros + seconds * 1e6 + Math.floor(micros);
  };
}

/** Up to 15 digits and a point are one exact division; everything else goes through Number. */
function parseNumber(bytes: Buffer, start: number, end: number): number {
  const negative = bytes[start] === minus;
  let mantissa = 0;
  let digits = 0;
  let pointAt = -1;
  for (let at = negative ? start + 1 : start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === point && pointAt < 0) {
      pointAt = at;
      continue;
    }
    const digit = byte - zero;
    if (digit < 0 || digit > 9 || digits === digitsExactMax)
      return parseOther(bytes.toString("latin1", start, end));
    mantissa = mantissa * 10 + digit;
    digits += 1;
  }
  const value = pointAt < 0 ? mantissa : mantissa / (powersOfTen[end - pointAt - 1] ?? 1);
  return negative ? -value : value;
}

function parseOther(text: string): number {
  if (text === "true" || text === "false") return text === "true" ? 1 : 0;
  return Number(text.replace("Inf", "Infinity")); // a sum may exceed the range of doubles
}

function parseText(cell: string): string {
  return parseJsonText(unquote(cell));
}

/** A text from Flux's JSON. @throws ForeignValue for JSON of anything else */
export function parseJsonText(json: string): string {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "string") throw new ForeignValue(typeof value);
  return value;
}

/** Values of another type than the series has: something other than us has written them. */
export class ForeignValue extends Error {
  constructor(readonly heldAs: string) {
    super(`values of type ${heldAs}`);
  }
}

/** The datatypes that InfluxDB may answer for a series of a kind: booleans are also counted and turned into numbers. */
const datatypes: Readonly<Record<Kind, ReadonlySet<string>>> = {
  number: new Set(["double", "long", "unsignedLong"]),
  boolean: new Set(["boolean", "double", "long", "unsignedLong"]),
  text: new Set(["string"]),
};

/** @throws ForeignValue */
export function checkType(kind: Kind, datatype: string): void {
  if (datatype !== "" && !datatypes[kind].has(datatype)) throw new ForeignValue(datatype);
}

function lastCell(line: string): string {
  return line.slice(line.lastIndexOf(",") + 1);
}

function unquote(cell: string): string {
  return cell.charCodeAt(0) === quote ? cell.slice(1, -1).replaceAll('""', '"') : cell;
}

function splitCells(line: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at <= line.length; ) {
    const quoted = line.charCodeAt(at) === quote;
    const end = quoted ? endOfQuoted(line, at) : endOfPlain(line, at);
    cells.push(unquote(line.slice(at, end)));
    at = end + 1;
  }
  return cells;
}

function endOfPlain(line: string, from: number): number {
  const comma = line.indexOf(",", from);
  return comma < 0 ? line.length : comma;
}

/** The offset after the quotation mark that closes a cell; within a cell two of them stand for one. */
function endOfQuoted(line: string, from: number): number {
  let at = line.indexOf('"', from + 1);
  while (at >= 0 && line.charCodeAt(at + 1) === quote) at = line.indexOf('"', at + 2);
  return at < 0 ? line.length : at + 1;
}

/** Flux, or the storage engine, has no such aggregate for the type that it holds. */
const unsupported = /unsupported (?:input type )?for (?:aggregate \w+|\w+ aggregate): (?:\*reads\.)?([a-z]+)/;

/** Null for any other message. */
export function foreignIn(message: string): ForeignValue | null {
  const [, heldAs] = unsupported.exec(message) ?? [];
  return heldAs === undefined ? null : new ForeignValue(heldAs);
}

function engineError(message: string): Error {
  return foreignIn(message) ?? new StoreError("UNAVAILABLE", `cannot query InfluxDB: ${message}`);
}

function grown(array: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(array.length * 2);
  larger.set(array);
  return larger;
}
