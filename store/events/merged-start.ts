/**
 * Where the merge of several sequences may begin so that it need not read all that comes before a page. The merge takes
 * the head that was received last; so a record is taken at the lowest time of receipt between the begin of its sequence
 * and itself, its turn. Runs bound the turns of their records without reading them.
 */

import { type EventRun, type EventSequence, isSplittable } from "./event-sequence.js";

/** A state of the merge: places taken from each sequence, and rows still to come before those that are wanted. */
interface MergeStart {
  readonly taken: readonly number[];
  readonly rowsBefore: number;
  /** For each sequence, the runs that may lie on both sides of the wanted place. */
  readonly unclear: readonly (readonly EventRun[])[];
}

/** The runs of one sequence; both bounds descend, as turns do. */
interface Bounded {
  readonly runs: readonly EventRun[];
  readonly count: number;
  /** No record of the run, and none after it, has a later turn. */
  readonly latest: Float64Array;
  /** No record of the run, and none before it, has an earlier turn. */
  readonly earliest: Float64Array;
}

function computeRunBounds(runs: readonly EventRun[]): Bounded {
  const latest = new Float64Array(runs.length);
  const earliest = new Float64Array(runs.length);
  let high = Number.POSITIVE_INFINITY;
  let low = Number.POSITIVE_INFINITY;
  for (const [i, { received }] of runs.entries()) {
    high = Math.min(high, received?.newest ?? Number.POSITIVE_INFINITY);
    low = Math.min(low, received?.oldest ?? Number.NEGATIVE_INFINITY);
    latest[i] = high;
    earliest[i] = low;
  }
  const last = runs.at(-1);
  return { runs, count: last === undefined ? 0 : last.from + last.count, latest, earliest };
}

/** The first index from which on `holds` is true, `length` if there is none; once true, it stays true. */
function firstWhere(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

const firstAtOrBefore = (bounds: Float64Array, time: number): number =>
  firstWhere(bounds.length, (i) => (bounds[i] as number) <= time);

/** Places before the run of that index. */
const placesBefore = ({ runs, count }: Bounded, index: number): number => runs[index]?.from ?? count;

/** Computes from the bounds of the runs the state from which the merge reaches the wanted place by the fewest rows. */
function computeStart(sequences: readonly (readonly EventRun[])[], wanted: number): MergeStart {
  const all = sequences.map(computeRunBounds);
  const time = timeBefore(all, wanted);
  // All that surely has a later turn is taken; its order does not matter to what comes after that time.
  const taken = all.map((one) => placesBefore(one, firstAtOrBefore(one.earliest, time)));
  return {
    taken,
    rowsBefore: wanted - taken.reduce((sum, places) => sum + places, 0),
    unclear: all.map(({ runs, earliest, latest }) =>
      runs.slice(
        firstAtOrBefore(earliest, time),
        firstWhere(latest.length, (i) => (latest[i] as number) < time),
      ),
    ),
  };
}

/** The earliest time after which no more records than `wanted` have their turn, whatever their runs leave open. */
function timeBefore(all: readonly Bounded[], wanted: number): number {
  const mayBeAfter = (time: number) =>
    all.reduce((sum, one) => sum + placesBefore(one, firstAtOrBefore(one.latest, time)), 0);
  const times = all.map(({ latest }) => {
    const tooMany = firstWhere(latest.length, (i) => mayBeAfter(latest[i] as number) > wanted);
    return tooMany === 0 ? Number.POSITIVE_INFINITY : (latest[tooMany - 1] as number);
  });
  return Math.min(...times);
}

/** Rows before a page that are as quickly read as avoided. */
export const nearRows = 2000;
/** Each round makes the parts in question some thirty times smaller. */
const roundsMax = 8;
/** Runs of a sequence that are split in one round. */
const splitsPerRound = 4;

/** As `computeStart`, after splitting runs where too many rows would have to be read. */
export async function findStart(
  sequences: readonly EventSequence[],
  wanted: number,
  rowsBeforeMax: number,
): Promise<MergeStart> {
  // Where nothing is merged, or nothing comes before, the place is known.
  if (sequences.length === 1 || wanted === 0) {
    return { taken: sequences.map(() => wanted), rowsBefore: 0, unclear: [] };
  }
  let runs = sequences.map((sequence) => sequence.runs);
  for (let round = 0; ; round++) {
    const start = computeStart(runs, wanted);
    if (start.rowsBefore <= rowsBeforeMax || round === roundsMax) return start;
    const chosen = start.unclear.map((some) => some.filter(isSplittable).slice(0, splitsPerRound));
    if (chosen.every((some) => some.length === 0)) return start;
    runs = await Promise.all(sequences.map((one, i) => splitSome(one, runs[i] ?? [], chosen[i] ?? [])));
  }
}

async function splitSome(
  sequence: EventSequence,
  runs: readonly EventRun[],
  chosen: readonly EventRun[],
): Promise<readonly EventRun[]> {
  const parts = new Map<EventRun, readonly EventRun[]>();
  for (const run of chosen) parts.set(run, await sequence.split(run));
  return runs.flatMap((run) => parts.get(run) ?? [run]);
}
