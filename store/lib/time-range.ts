/**
 * The times that points may have, microseconds since 1970: the whole UTC months in which every microsecond is exactly a
 * double. Both engines take no others, so that a time always reads back exactly.
 */

/** 1684-08-01. */
export const earliestTime = Date.UTC(1684, 7, 1) * 1000;
/** The last microsecond of 2255-05-31. */
export const latestTime = Date.UTC(2255, 5, 1) * 1000 - 1;

export function isStorableTime(time: number): boolean {
  return Number.isInteger(time) && time >= earliestTime && time <= latestTime;
}
