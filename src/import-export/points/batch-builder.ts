import { batchErrorsMax, batchPointsMax, batchTextMax, historyColumnsMax } from "./limits.js";

export interface BadRow {
  /** The first line of the file is 1. */
  readonly line: number;
  readonly column: string;
  readonly error: string;
}

/** Points and bad rows of a stretch of the file. Point i belongs to target `targetAt[i]` and came from `lines[i]`. */
export interface ReadBatch {
  readonly targetAt: Int32Array;
  readonly times: Float64Array;
  /** Numbers, 1 or 0 for booleans, or indexes into `texts`. */
  readonly values: Float64Array;
  readonly texts: readonly string[];
  readonly lines: Float64Array;
  readonly bad: readonly BadRow[];
}

export interface BatchBuilder {
  add(target: number, time: number, value: number | boolean | string, line: number): void;
  refuse(line: number, column: string, error: string): void;
  readonly full: boolean;
  readonly empty: boolean;
  take(): ReadBatch;
}

const errorCharactersMax = 200;

export function createBatchBuilder(): BatchBuilder {
  // A row of the wide layout goes into one batch.
  const capacity = batchPointsMax + historyColumnsMax;
  let targetAt = new Int32Array(capacity);
  let times = new Float64Array(capacity);
  let values = new Float64Array(capacity);
  let lines = new Float64Array(capacity);
  let texts: string[] = [];
  let textSize = 0;
  let bad: BadRow[] = [];
  let n = 0;

  return {
    add: (target, time, value, line) => {
      targetAt[n] = target;
      times[n] = time;
      lines[n] = line;
      if (typeof value === "string") {
        values[n] = texts.push(value) - 1;
        textSize += value.length;
      } else values[n] = Number(value);
      n++;
    },
    refuse: (line, column, error) => {
      bad.push({ line, column, error: error.slice(0, errorCharactersMax) });
    },
    get full() {
      return n >= batchPointsMax || textSize >= batchTextMax || bad.length >= batchErrorsMax;
    },
    get empty() {
      return n === 0 && bad.length === 0;
    },
    take: () => {
      const batch = {
        targetAt: targetAt.subarray(0, n),
        times: times.subarray(0, n),
        values: values.subarray(0, n),
        lines: lines.subarray(0, n),
        texts,
        bad,
      };
      targetAt = new Int32Array(capacity);
      times = new Float64Array(capacity);
      values = new Float64Array(capacity);
      lines = new Float64Array(capacity);
      texts = [];
      textSize = 0;
      bad = [];
      n = 0;
      return batch;
    },
  };
}
