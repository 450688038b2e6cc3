/** One reader thread: it answers one call after another. */

import { createLock } from "../../lib/scheduling.js";
import { createExtremes } from "../extremes.js";
import type { Handlers } from "./calls.js";
import { concatRuns, ownRun, type Run } from "./columns.js";
import { fetchMerged, fetchOverlaid, rangeInFiles } from "./fetch.js";
import type { ReaderCalls } from "./protocol.js";
import { readAggregate } from "./read-aggregate.js";
import { readLatest } from "./read-latest.js";
import { createReaderFiles, type ReaderFiles } from "./reader-files.js";

/**
 * @param filesMax files open at once
 * @param onFault called for what is left out of answers
 */
export function createReader({
  dir,
  filesMax,
  onFault,
}: {
  dir: string;
  filesMax: number;
} & Pick<ReaderFiles, "onFault">): Handlers<ReaderCalls> {
  const inTurn = createLock();
  const files = createReaderFiles(dir, filesMax, onFault);

  return {
    read: (args) =>
      inTurn(() =>
        fetchMerged(files, rangeInFiles(args, args.range.start, args.range.stop), args.memory, args.range),
      ),
    aggregate: (args) => inTurn(() => readAggregate(files, args)),
    extremes: (args) => inTurn(() => readExtremes(files, args)),
    latest: (args) => inTurn(() => readLatest(files, args)),
    forget: (paths) =>
      inTurn(async () => {
        await files.close(paths);
        return null;
      }),
    close: () =>
      inTurn(async () => {
        await files.closeAll();
        return null;
      }),
  };
}

/** One pass over the points: all of them are kept for as long as they are few. */
async function readExtremes(files: ReaderFiles, args: ReaderCalls["extremes"]["args"]): Promise<Run> {
  const thinned = createExtremes(args.width);
  const range = rangeInFiles(args, args.start, args.stop);
  let few: Run[] | null = [];
  let count = 0;
  for await (const run of fetchOverlaid(files, range, args.memory)) {
    const { times, values } = run;
    if (Array.isArray(values)) continue;
    thinned.add(times, values);
    count += times.length;
    if (count > args.exactMax) few = null;
    else few?.push(run);
  }
  return few === null ? thinned.result() : ownRun(concatRuns(few, false));
}
