import { createSlice } from "../../../lib/turns.js";
import type { Row } from "./connection.js";
import type { RowSet } from "./local-file.js";

/**
 * Rows on their way between threads. As JSON text they cost the thread that receives them half of what cloning them
 * would, and nothing is held up by a long answer, since it comes in pieces.
 */
export interface RowsText {
  readonly columns: readonly string[];
  /** JSON arrays of rows, each an array of values. A blob stands there as null. */
  readonly pieces: readonly string[];
  readonly blobs: readonly Blob[];
}

interface Blob {
  readonly row: number;
  readonly column: number;
  readonly bytes: ArrayBuffer;
}

type Values = Row[string][];

/** Length of a piece, after which it ends with the row under way. */
const pieceLength = 64 * 1024;

export function encodeRows({ columns, rows }: RowSet): RowsText {
  const pieces: string[] = [];
  const blobs: Blob[] = [];
  let piece = "";
  for (const [row, values] of rows.entries()) {
    const plain = values.map((value, column) => {
      if (!(value instanceof Uint8Array)) return value;
      blobs.push({ row, column, bytes: new Uint8Array(value).buffer });
      return null;
    });
    piece += `${piece === "" ? "[" : ","}${JSON.stringify(plain)}`;
    if (piece.length < pieceLength) continue;
    pieces.push(`${piece}]`);
    piece = "";
  }
  if (piece !== "") pieces.push(`${piece}]`);
  return { columns, pieces, blobs };
}

export const blobsOf = ({ blobs }: RowsText): ArrayBuffer[] => blobs.map(({ bytes }) => bytes);

/** In slices. */
export async function decodeRows({ columns, pieces, blobs }: RowsText): Promise<Row[]> {
  const slice = createSlice();
  const toRow = rowMaker(columns);
  const rows: Row[] = [];
  let next = 0;
  for (const piece of pieces) {
    for (const values of JSON.parse(piece) as Values[]) {
      for (let blob = blobs[next]; blob?.row === rows.length; blob = blobs[++next]) {
        values[blob.column] = blob.bytes;
      }
      rows.push(toRow(values));
    }
    if (slice.isOver()) await slice.next();
  }
  return rows;
}

/** Makes rows of values in the order of the columns. */
export function rowMaker(columns: readonly string[]): (values: Values) => Row {
  const fields = [...new Map([...columns.entries()].reverse().map(([i, name]) => [name, i]))].reverse();
  return (values) => {
    const row: Record<string, Row[string]> = {};
    for (const [name, i] of fields) row[name] = values[i] ?? null;
    return row;
  };
}
