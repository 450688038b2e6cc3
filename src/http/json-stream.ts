import { createPacer } from "../../store/lib/scheduling.js";
import { inChunks } from "./chunks.js";

/**
 * JSON of answers that are too long for one turn of the event loop: made in slices, as the reader takes it.
 */

/** How many values may be made JSON at once; a text counts for one more with each 64 characters. */
const weightMax = 1000;
const charactersOfOne = 64;
/** Deeper nesting is made at once, because nothing long is that deep. */
const depthMax = 8;

/** A long array whose elements are made when asked for. */
export class Column {
  constructor(
    readonly length: number,
    /** The elements of [from, to). */
    readonly slice: (from: number, to: number) => readonly unknown[],
    /** The data from which the elements follow, if it is shorter to compare. */
    readonly key: Float64Array | null = null,
    /** How many elements are made at once: fewer if they may be long. */
    readonly atOnce = weightMax,
  ) {}

  /** Allows a short answer to be made JSON at once. */
  toJSON(): readonly unknown[] {
    return this.slice(0, this.length);
  }
}

/** Whether a value is too long to be made JSON at once. */
export const isLong = (value: unknown): boolean => subtractWeight(value, weightMax) < 0;

/** The part of a weight left after a value; below 0 once it is used up, and the search then stops. */
function subtractWeight(value: unknown, weight: number): number {
  if (typeof value === "string") return weight - 1 - Math.floor(value.length / charactersOfOne);
  if (typeof value !== "object" || value === null) return weight - 1;
  if (value instanceof Column) return weight - value.length * (weightMax / value.atOnce);
  let remaining = weight - 1;
  for (const one of Array.isArray(value) ? value : Object.values(value)) {
    if (remaining < 0) break;
    remaining = subtractWeight(one, remaining);
  }
  return remaining;
}

/** The JSON of a plain value, piece by piece. */
export const jsonTexts = (value: unknown): Generator<string, void> => pieces(value, columnTexts);

/** Identifies a value among others: its JSON, except for columns with a key. */
export const keyPieces = (value: unknown): Generator<string | Uint8Array, void> =>
  pieces<string | Uint8Array>(value, (column) =>
    column.key === null
      ? columnTexts(column)
      : inChunks([new Uint8Array(column.key.buffer, column.key.byteOffset, column.key.byteLength)]),
  );

type OfColumn<Piece> = (column: Column) => Generator<Piece, void>;

function* pieces<Piece>(
  value: unknown,
  ofColumn: OfColumn<Piece>,
  depth = depthMax,
): Generator<Piece | string, void> {
  if (typeof value !== "object" || value === null || depth === 0 || !isLong(value)) {
    yield JSON.stringify(value) ?? "null";
  } else if (value instanceof Column) yield* ofColumn(value);
  else if (Array.isArray(value)) yield* arrayPieces(value, ofColumn, depth - 1);
  else yield* objectPieces(value, ofColumn, depth - 1);
}

function* columnTexts({ length, slice, atOnce }: Column): Generator<string, void> {
  for (let from = 0; from < length; from += atOnce) {
    const some = JSON.stringify(slice(from, Math.min(length, from + atOnce))).slice(1, -1);
    yield `${from === 0 ? "[" : ","}${some}`;
  }
  yield length === 0 ? "[]" : "]";
}

function* arrayPieces<Piece>(
  array: readonly unknown[],
  ofColumn: OfColumn<Piece>,
  depth: number,
): Generator<Piece | string, void> {
  let before = "[";
  for (const one of array) {
    yield before;
    yield* pieces(one, ofColumn, depth);
    before = ",";
  }
  yield array.length === 0 ? "[]" : "]";
}

function* objectPieces<Piece>(
  object: object,
  ofColumn: OfColumn<Piece>,
  depth: number,
): Generator<Piece | string, void> {
  let before = "{";
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(key)}:`;
    yield* pieces(value, ofColumn, depth);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

const encoder = new TextEncoder();

/** Short texts are encoded together. */
const bufferedMax = 4096;

function* encoded(texts: Iterable<string>): Generator<Uint8Array, void> {
  let buffered = "";
  for (const text of texts) {
    buffered += text;
    if (buffered.length < bufferedMax) continue;
    yield encoder.encode(buffered);
    buffered = "";
  }
  yield encoder.encode(buffered);
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

/** An answer that is made as it is read. */
export function createByteStream(chunks: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
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
