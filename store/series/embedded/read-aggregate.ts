/** One value a window, from the points of the files with those of the memtables laid over them. */

import { createAggregation } from "../aggregation.js";
import { computeColumn, computeOne } from "../arithmetic.js";
import type { ArithmeticAnswer } from "../series.js";
import { noTimeBelow } from "./columns.js";
import { fetchMerged, fetchOverlaid, rangeInFiles } from "./fetch.js";
import type { ReaderCalls } from "./protocol.js";
import type { ReaderFiles } from "./reader-files.js";

type AggregateArgs = ReaderCalls["aggregate"]["args"];

export async function readAggregate(
  files: ReaderFiles,
  args: AggregateArgs,
): Promise<ArithmeticAnswer | null> {
  const { edges, arithmetic } = args;
  const start = edges[0] ?? 0;
  const aggregation = createAggregation(edges, args.aggregate);
  let errors = 0;
  if (args.aggregate === "increase") {
    const before = await valueBefore(files, args, start);
    const from = before === undefined || arithmetic === null ? before : computeOne(arithmetic, before);
    // The last result lies further back: null has the caller read the points.
    if (arithmetic !== null && from !== undefined && !Number.isFinite(from)) return null;
    if (from !== undefined) aggregation.startFrom(from);
  }
  const range = rangeInFiles(args, start, edges.at(-1));
  for await (const { times, values } of fetchOverlaid(files, range, args.memory)) {
    // Texts are only ever counted.
    const numbers = Array.isArray(values) ? new Float64Array(values.length) : values;
    if (arithmetic === null) aggregation.add(times, numbers);
    else {
      const results = withResults(times, computeColumn(arithmetic, numbers));
      aggregation.add(results.times, results.values);
      errors += times.length - results.times.length;
    }
  }
  return { values: aggregation.result(), errors };
}

/** The value of the newest point before the range, in memory or in a file. */
async function valueBefore(
  files: ReaderFiles,
  args: AggregateArgs,
  start: number,
): Promise<number | undefined> {
  const range = { ...rangeInFiles(args, noTimeBelow, start), parts: args.earlier };
  const stored = await fetchMerged(files, range, null, { newest: 1 });
  const { before } = args;
  const inFiles = stored.times[0];
  const value =
    before !== null && (inFiles === undefined || before.time >= inFiles) ? before.value : stored.values[0];
  return typeof value === "number" ? value : undefined;
}

/** Points whose result is finite. */
function withResults(
  times: Float64Array,
  values: Float64Array,
): { times: Float64Array; values: Float64Array } {
  // A sum of finite numbers may overflow: then the slow way finds that no result is missing.
  const total = values.reduce((sum, value) => sum + value, 0);
  if (Number.isFinite(total)) return { times, values };
  const hasResult = (_: number, i: number) => Number.isFinite(values[i]);
  return { times: times.filter(hasResult), values: values.filter(Number.isFinite) };
}
