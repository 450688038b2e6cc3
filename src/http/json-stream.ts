import { createPacer } from "../../store/turns.js";
import { inChunks } from "./chunks.js";

/** JSON of answers that are too long for one turn of the loop: made in slices, as its reader takes it. */

/** Arrays up to so many elements are made JSON at once. */
const elementsMax = 200;
/** Answers nest no long array deeper than this. */
const depthMax = 4;
/** Values of a column that are made JSON at once. */
const columnStep = 1000;

/** A long array whose elements are made when they are asked for. */
export class Column {
  constructor(
    readonly length: number,
    /** The elements of [from, to). */
    readonly slice: (from: number, to: number) => readonly unknown[],
    /** What the elements follow from, where that is shorter to compare. */
    readonly key: Float64Array | null = null,
  ) {}

  /** So that a short answer can be made JSON at once. */
  toJSON(): readonly unknown[] {
    return this.slice(0, this.length);
  }
}

/** Whether a value is too long to be made JSON at once. */
export function isLong(value: unknown, depth = depthMax): boolean {
  if (typeof value !== "object" || value === null || depth === 0) return false;
  if (value instanceof Column) return value.length > elementsMax;
  if (Array.isArray(value)) return value.length > elementsMax || value.some((one) => isLong(one, depth - 1));
  for (const key in value) if (isLong((value as Record<string, unknown>)[key], depth - 1)) return true;
  return false;
}

/** The JSON of a plain value, piece by piece. */
export const jsonTexts = (value: unknown): Generator<string, void> => pieces(value, columnTexts);

/** What tells a value from others: as its JSON, but for columns with a key. */
export const keyPieces = (value: unknown): Generator<string | Uint8Array, void> =>
  pieces<string | Uint8Array>(value, (column) =>
    column.key === null
      ? columnTexts(column)
      : inChunks([new Uint8Array(column.key.buffer, column.key.byteOffset, column.key.byteLength)]),
  );

type OfColumn<Piece> = (column: Column) => Generator<Piece, void>;

function* pieces<Piece>(value: unknown, ofColumn: OfColumn<Piece>): Generator<Piece | string, void> {
  if (!isLong(value)) yield JSON.stringify(value);
  else if (value instanceof Column) yield* ofColumn(value);
  else if (Array.isArray(value)) yield* arrayPieces(value, ofColumn);
  else yield* objectPieces(value as object, ofColumn);
}

function* columnTexts({ length, slice }: Column): Generator<string, void> {
  for (let from = 0; from < length; from += columnStep) {
    const some = JSON.stringify(slice(from, Math.min(length, from + columnStep))).slice(1, -1);
    yield `${from === 0 ? "[" : ","}${some}`;
  }
  yield length === 0 ? "[]" : "]";
}

function* arrayPieces<Piece>(
  array: readonly unknown[],
  ofColumn: OfColumn<Piece>,
): Generator<Piece | string, void> {
  let before = "[";
  for (const one of array) {
    if (isLong(one)) {
      yield before;
      yield* pieces(one, ofColumn);
    } else yield `${before}${JSON.stringify(one) ?? null}`;
    before = ",";
  }
  yield array.length === 0 ? "[]" : "]";
}

function* objectPieces<Piece>(object: object, ofColumn: OfColumn<Piece>): Generator<Piece | string, void> {
  let before = "{";
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(key)}:`;
    yield* pieces(value, ofColumn);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

const encoder = new TextEncoder();

function* encoded(texts: Iterable<string>): Generator<Uint8Array, void> {
  for (const text of texts) yield encoder.encode(text);
}

/** Chunks of all answers are made in turn. */
const paced = createPacer();

/** Texts as chunks of UTF-8, each made when it is asked for. */
export async function* chunksOfTexts(texts: Iterable<string>): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const chunks = inChunks(encoded(texts));
  for (;;) {
    const { value, done } = await paced(() => chunks.next());
    if (done === true) return;
    yield value;
  }
}

/** An answer that is made as its reader takes it. */
export function streamOf(chunks: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { value, done } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}
