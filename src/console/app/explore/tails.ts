/** Points that came after the answer to a query, each line's in order of time. */

interface Tail {
  readonly times: number[];
  readonly values: number[];
  /** Times of those that came after newer ones, or long after their time. */
  readonly late: number[];
}

export type Tails = Map<string, Tail>;

interface Values {
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
}

/** A tail of more is asked for with the others before it is cut. */
const [pointsAsked, pointsMax] = [5000, 10_000];
const lateMax = 1000;

/** @param isLate it may belong before what was asked for, though nothing newer has come since */
export function addPoint(tails: Tails, key: string, time: number, value: number, isLate = false): void {
  let tail = tails.get(key);
  if (tail === undefined) {
    tail = { times: [], values: [], late: [] };
    tails.set(key, tail);
  }
  const { times, values, late } = tail;
  const isKnown = times[findInsertPlace(times, time)] === time;
  const isBehind = time < (times.at(-1) ?? Number.NEGATIVE_INFINITY);
  if (isBehind) {
    const at = findInsertPlace(times, time);
    times.splice(at, isKnown ? 1 : 0, time);
    values.splice(at, isKnown ? 1 : 0, value);
  } else if (time === times.at(-1)) {
    values[values.length - 1] = value;
  } else {
    times.push(time);
    values.push(value);
  }
  if (!isKnown && (isBehind || isLate)) late.push(time);
  // Cut by halves: moving all of them for each point would be slow.
  if (times.length > 2 * pointsMax) {
    times.splice(0, pointsMax);
    values.splice(0, pointsMax);
  }
  if (late.length > lateMax) late.splice(0, late.length - lateMax);
}

/** Whether so much has come that the query should be sent again: the new answer has what a tail has lost. */
export function isFull(found: ReadonlyMap<string, Values>, tails: Tails): boolean {
  return [...tails].some(([key, { times }]) => {
    const last = found.get(key)?.times.at(-1) ?? Number.NEGATIVE_INFINITY;
    return times.length - findInsertPlace(times, last) > pointsAsked;
  });
}

/** Joins an answer with the points that have come since; late points go to their place among them. */
export function withTail<Found extends Values>(found: Found, tail: Tail | undefined): Found {
  if (tail === undefined || tail.times.length === 0) return found;
  const last = found.times.at(-1) ?? Number.NEGATIVE_INFINITY;
  const place = findInsertPlace(tail.times, last);
  const first = tail.times[place] === last ? place + 1 : place;
  const [times, values] = [
    found.times.concat(tail.times.slice(first)),
    found.values.concat(tail.values.slice(first)),
  ];
  for (const time of tail.late) {
    if (time > last) continue;
    const at = findInsertPlace(times, time);
    const known = times[at] === time ? 1 : 0;
    times.splice(at, known, time);
    values.splice(at, known, tail.values[findInsertPlace(tail.times, time)] ?? null);
  }
  return { ...found, times, values };
}

/** The place of the first that is not before the time. */
function findInsertPlace(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
