import { type CsvDialect, readDialect } from "../csv-dialect.js";
import { FormatError } from "../format-error.js";
import { unguardFormula } from "../formula-guard.js";
import { createCsvRows } from "./csv-rows.js";
import { historyColumnsMax, longColumns, rowBytesMax, wideColumns } from "./limits.js";

/** The layout that the first row of a CSV file gives the others. */
export interface CsvHeader extends Pick<CsvDialect, "decimalComma"> {
  readonly delimiter: number;
  /** How many cells each row has. */
  readonly columns: number;
  readonly deviceAt: number;
  readonly timeAt: number;
  /** Long layout: the columns of the data point's name and of its value; null in the wide one. */
  readonly pointAt: number | null;
  readonly valueAt: number | null;
  /** Wide layout: the columns that hold data points. */
  readonly points: readonly { readonly at: number; readonly dataPointID: string }[];
  /** The offset at which the rows begin. */
  readonly bytes: number;
  readonly lines: number;
}

const byteOrderMark = Buffer.from("\ufeff", "utf8");

export function markBytes(bytes: Buffer): number {
  return bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0;
}

/** Reads the header at the beginning of a file. @throws FormatError that names the form it must have */
export function readCsvHeader(bytes: Buffer, end: boolean): CsvHeader {
  const start = markBytes(bytes);
  const { delimiter, decimalComma, skip } = readDialect(
    bytes.toString("latin1", start, Math.min(bytes.length, start + rowBytesMax)),
  );
  const from = start + skip;
  const rows = createCsvRows(delimiter.charCodeAt(0));
  const after = rows.next(bytes, from, bytes.length, end);
  if (after < 0) throw new FormatError(`the header must be shorter than ${rowBytesMax} bytes`);
  if (rows.problem !== null) throw new FormatError(`the header cannot be read: ${rows.problem}`);
  const names = Array.from({ length: rows.count }, (_, cell) => {
    const name = rows.text(bytes, cell);
    if (name === null) throw new FormatError("the file is not UTF-8");
    return unguardFormula(name.trim());
  });
  const columns = withFixedNames(names, isLongHeader(names) ? longColumns : wideColumns);
  const isLong = holdsAll(columns, longColumns);
  const others = columns.flatMap((dataPointID, at) =>
    isWideColumn(dataPointID) ? [] : [{ at, dataPointID }],
  );
  const known = holdsAll(columns, wideColumns);
  if (
    new Set(columns).size < columns.length ||
    !known ||
    others.length === 0 ||
    (isLong && columns.length > 4)
  ) {
    throw new FormatError(
      `the header must name ${longColumns.join(", ")}, or ${wideColumns.join(", ")} and data points, each once and at most ${historyColumnsMax}`,
    );
  }
  const findColumn = (name: string) => columns.indexOf(name);
  return {
    delimiter: delimiter.charCodeAt(0),
    decimalComma,
    columns: columns.length,
    deviceAt: findColumn("deviceID"),
    timeAt: findColumn("time"),
    pointAt: isLong ? findColumn("dataPointID") : null,
    valueAt: isLong ? findColumn("value") : null,
    points: isLong ? [] : others,
    bytes: after,
    lines: rows.lines + (skip > 0 ? 1 : 0),
  };
}

/** The names of fixed columns count in any case; those of data points, such as `Value` in the wide layout, are exact. */
function withFixedNames(names: readonly string[], fixed: readonly string[]): string[] {
  const byLower = new Map(fixed.map((name) => [name.toLowerCase(), name]));
  return names.map((name) => byLower.get(name.toLowerCase()) ?? name);
}

/** More columns than four are data points, unless the names of the long layout stand there exactly: then one is too many. */
function isLongHeader(names: readonly string[]): boolean {
  const isInAnyCase = holdsAll(withFixedNames(names, longColumns), longColumns);
  return names.length === longColumns.length ? isInAnyCase : holdsAll(names, longColumns);
}

function holdsAll(names: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((name) => names.includes(name));
}

const isWideColumn = (name: string): boolean => (wideColumns as readonly string[]).includes(name);
