import { type CsvDialect, readDialect } from "../csv-dialect.js";
import { FormatError } from "../format-error.js";
import { unguardFormula } from "../formula-guard.js";
import { createCsvRows } from "./csv-rows.js";
import { columnsMax, longColumns, rowBytesMax, wideColumns } from "./limits.js";

/** What the first row of a CSV file tells about the others. */
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

/** Names that files have in any case; those of data points are exact. */
const fixedNames: ReadonlyMap<string, string> = new Map(
  longColumns.map((name) => [name.toLowerCase(), name]),
);
const byteOrderMark = Buffer.from("\ufeff", "utf8");

export function markBytes(bytes: Buffer): number {
  return bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0;
}

/** Reads the header at the beginning of a file. @throws FormatError telling the form that it must have */
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
    const bare = unguardFormula(name.trim());
    return fixedNames.get(bare.toLowerCase()) ?? bare;
  });
  const columnOf = (name: string) => names.indexOf(name);
  const isLong = longColumns.every((name) => names.includes(name));
  const others = names.flatMap((dataPointID, at) =>
    (wideColumns as readonly string[]).includes(dataPointID) ? [] : [{ at, dataPointID }],
  );
  const known = (wideColumns as readonly string[]).every((name) => names.includes(name));
  if (new Set(names).size < names.length || !known || others.length === 0 || (isLong && names.length > 4)) {
    throw new FormatError(
      `the header must name ${longColumns.join(", ")}, or ${wideColumns.join(", ")} and data points, each once and at most ${columnsMax}`,
    );
  }
  return {
    delimiter: delimiter.charCodeAt(0),
    decimalComma,
    columns: names.length,
    deviceAt: columnOf("deviceID"),
    timeAt: columnOf("time"),
    pointAt: isLong ? columnOf("dataPointID") : null,
    valueAt: isLong ? columnOf("value") : null,
    points: isLong ? [] : others,
    bytes: after,
    lines: rows.lines + (skip > 0 ? 1 : 0),
  };
}
