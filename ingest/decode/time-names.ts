/** The names of a time in a payload. */
export type TimeName = "time" | "TimeStamp";

const otherName: Readonly<Record<TimeName, TimeName>> = { time: "TimeStamp", TimeStamp: "time" };

/**
 * The name under which an object has its time: its own, or the other one where that is missing and `knows` no data
 * point of that name (none where it is not asked). `own` if it has none.
 */
export function findTimeName(
  object: Readonly<Record<string, unknown>>,
  own: TimeName,
  knows: (key: string) => boolean = nothing,
): TimeName {
  const other = otherName[own];
  return isGiven(object[own]) || !isGiven(object[other]) || knows(other) ? own : other;
}

const nothing = (): boolean => false;
const isGiven = (time: unknown): boolean => time !== undefined && time !== null;
