import { createSlice } from "../../../lib/scheduling.js";
import type { DatabaseRow } from "./connection.js";
import type { RowSet } from "./local-file.js";

/**
 * Rows on their way between threads. As JSON text they cost the thread that receives them half of what cloning them
 * would, and it reads a long answer piece by piece.
 */
export interface RowsText {
  readonly columns: readonly string[];
  /** JSON arrays of rows, each an array of values. */
  readonly pieces: readonly string[];
}

/** A blob stands in the text as its base64. */
interface BlobText {
  readonly base64: string;
}

/** Length of a piece, after which it ends with the row under way. */
const pieceLength = 64 * 1024;

export function encodeRows({ columns, rows }: RowSet): RowsText {
  const pieces: string[] = [];
  let piece = "";
  for (const values of rows) {
    const plain = values.map((value) =>
      value instanceof Uint8Array ? ({ base64: value.toString("base64") } satisfies BlobText) : value,
    );
    piece += `${piece === "" ? "[" : ","}${JSON.stringify(plain)}`;
    if (piece.length < pieceLength) continue;
    pieces.push(`${piece}]`);
    piece = "";
  }
  if (piece !== "") pieces.push(`${piece}]`);
  return { columns, pieces };
}

type ValueText = string | number | null | BlobText;

/** In slices. */
export async function decodeRows({ columns, pieces }: RowsText): Promise<DatabaseRow[]> {
  const slice = createSlice();
  const toRow = rowMaker(columns);
  const rows: DatabaseRow[] = [];
  for (const piece of pieces) {
    for (const values of JSON.parse(piece) as ValueText[][]) rows.push(toRow(values.map(toValue)));
    if (slice.isOver()) await slice.next();
  }
  return rows;
}

function toValue(value: ValueText): DatabaseRow[string] {
  if (typeof value !== "object" || value === null) return value;
  return new Uint8Array(Buffer.from(value.base64, "base64")).buffer;
}

/** Makes rows of values in the order of the columns; of columns with one name the first counts. */
export function rowMaker(
  columns: readonly string[],
): (values: readonly DatabaseRow[string][]) => DatabaseRow {
  const fields = [...new Map([...columns.entries()].reverse().map(([i, name]) => [name, i]))].reverse();
  return (values) => {
    const row: Record<string, DatabaseRow[string]> = {};
    for (const [name, i] of fields) row[name] = values[i] ?? null;
    return row;
  };
}
