import type { LocalTime } from "../../../ingest/decode/time.js";
import { createBatchBuilder, type ReadBatch } from "./batch-builder.js";
import { markBytes, readCsvHeader } from "./csv-header.js";
import { createCsvTaker } from "./csv-taker.js";
import { type HistoryFormat, importTargetsMax, rowBytesMax, targetCharactersMax } from "./limits.js";
import { createNdjsonTaker } from "./ndjson-taker.js";
import type { RowTaker, TakerState, TargetAnswer, TargetName, TimeBounds } from "./row-taker.js";
import { openText, type TextSource } from "./text-source.js";

export interface HistoryFile {
  readonly path: string;
  readonly format: HistoryFormat;
}

/** How far reading has come: an offset in the file and the number of the line that begins there. */
export interface FilePosition {
  readonly offset: number;
  readonly line: number;
}

/** Receives what is read. */
interface HistorySink {
  /** Resolves the targets, in the order asked. They are counted from 0 since the last `reset`. */
  resolve(names: readonly TargetName[]): Promise<readonly TargetAnswer[]>;
  /** Takes everything up to `position`; resolves once more can be taken. */
  batch(batch: ReadBatch, position: FilePosition): Promise<void>;
  /** Resolves when all batches have been processed; targets are then counted from 0 again. */
  reset(): Promise<void>;
}

const bufferBytes = 4 * rowBytesMax;
const lineFeed = 10;

/**
 * Reads the rows of a history file from `position` (null for the beginning), however long the file or its lines are.
 * @throws FormatError if the file as a whole cannot be read
 */
export async function readHistory(
  file: HistoryFile,
  position: FilePosition | null,
  rules: { readonly local: LocalTime; readonly bounds: TimeBounds },
  sink: HistorySink,
): Promise<void> {
  const source = await openText(file.path);
  try {
    await readRows(source, file.format, position, rules, sink);
  } finally {
    await source.close();
  }
}

async function readRows(
  source: TextSource,
  format: HistoryFormat,
  resumed: FilePosition | null,
  rules: { readonly local: LocalTime; readonly bounds: TimeBounds },
  sink: HistorySink,
): Promise<void> {
  const builder = createBatchBuilder();
  const state: TakerState = { builder, ...rules, targets: new Map(), unknown: new Map(), epoch: 0, line: 1 };
  const bytes = Buffer.allocUnsafeSlow(bufferBytes);
  const { taker, begin } = await openTaker(source, format, state);
  const known = createKnownTargets(state, sink);
  const start = resumed ?? begin;
  state.line = start.line;
  /** File offset of buffer byte 0, and the unread bytes of the buffer. */
  let base = start.offset;
  let from = 0;
  let to = 0;
  let end = false;
  let skipping = false;

  async function refill(): Promise<void> {
    bytes.copyWithin(0, from, to);
    base += from;
    to -= from;
    from = 0;
    const bytesRead = await source.read(bytes, to, bytes.length - to, base + to);
    to += bytesRead;
    end = bytesRead === 0;
  }

  async function send(): Promise<void> {
    if (!builder.empty) await sink.batch(builder.take(), { offset: base + from, line: state.line });
  }

  async function learn(): Promise<void> {
    taker.lookAhead(bytes, from, to, end);
    if (known.isFull()) {
      await send();
      await known.forgetAll();
      // The next round resolves the targets that the current row needs.
      taker.lookAhead(bytes, from, to, end);
    }
    await known.resolveUnknown();
  }

  /** The line that begins at `from` is too long and is skipped without being held. */
  function skip(): void {
    const found = bytes.subarray(from, to).indexOf(lineFeed);
    skipping = found < 0;
    from = skipping ? to : from + found + 1;
    if (skipping) return;
    state.line++;
  }

  for (;;) {
    if (skipping) skip();
    else {
      from = taker.take(bytes, from, to, end);
      if (builder.full) {
        await send();
        continue;
      }
      if (state.unknown.size > 0) {
        await learn();
        continue;
      }
      if (to - from >= rowBytesMax) {
        const feed = bytes.subarray(from, from + rowBytesMax).indexOf(lineFeed);
        if (feed < 0) {
          builder.refuse(state.line, "", `is longer than ${rowBytesMax} bytes`);
          skipping = true;
        } else {
          // A quotation mark is never closed: its line is bad, and the text after that line is read again.
          builder.refuse(state.line, "", "a quotation mark is not closed");
          state.line++;
          from += feed + 1;
        }
        continue;
      }
    }
    if (end) break;
    await refill();
  }
  await send();
}

/** Counts the targets that the running import has learnt, from 0 since the last `forgetAll`. */
function createKnownTargets(state: TakerState, sink: Pick<HistorySink, "resolve" | "reset">) {
  let count = 0;
  let characters = 0;
  return {
    /** Whether the unknown targets would go beyond what one import remembers. */
    isFull: () => count + state.unknown.size > importTargetsMax || characters > targetCharactersMax,
    forgetAll: async () => {
      await sink.reset();
      state.targets.clear();
      state.unknown.clear();
      state.epoch++;
      count = 0;
      characters = 0;
    },
    resolveUnknown: async () => {
      const names = [...state.unknown.values()];
      const answers = await sink.resolve(names);
      for (const [i, key] of [...state.unknown.keys()].entries()) {
        state.targets.set(key, { ...(answers[i] as TargetAnswer), index: count++ });
        characters += key.length;
      }
      state.unknown.clear();
    },
  };
}

/** The reader of the format's rows, and where they begin. */
async function openTaker(
  source: TextSource,
  format: HistoryFormat,
  state: TakerState,
): Promise<{ taker: RowTaker; begin: FilePosition }> {
  const { bytes, end } = await readHead(source);
  if (format === "ndjson") {
    return { taker: createNdjsonTaker(state), begin: { offset: markBytes(bytes), line: 1 } };
  }
  const header = readCsvHeader(bytes, end);
  return {
    taker: createCsvTaker(header, state),
    begin: { offset: header.bytes, line: 1 + header.lines },
  };
}

/** The beginning of a file, and whether that is all of it. */
async function readHead(source: TextSource): Promise<{ readonly bytes: Buffer; readonly end: boolean }> {
  const head = Buffer.alloc(rowBytesMax);
  let length = 0;
  for (let read = -1; read !== 0 && length < head.length; length += read) {
    read = await source.read(head, length, head.length - length, length);
  }
  return { bytes: head.subarray(0, length), end: length < head.length };
}

/** Makes the quick checks, before a task begins. @throws FormatError */
export async function checkHistory({ path, format }: HistoryFile): Promise<void> {
  const source = await openText(path);
  try {
    const { bytes, end } = await readHead(source);
    if (format === "csv") readCsvHeader(bytes, end);
  } finally {
    await source.close();
  }
}

/** What the content of a file looks like. */
export async function guessFormat(path: string): Promise<HistoryFormat> {
  const source = await openText(path);
  try {
    const { bytes } = await readHead(source);
    return /^(\u00ef\u00bb\u00bf)?\s*\{/.test(bytes.toString("latin1", 0, 64)) ? "ndjson" : "csv";
  } finally {
    await source.close();
  }
}
