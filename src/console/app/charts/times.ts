/** The times that points can have, in seconds since 1970: beyond them there is nothing to be seen. */
const [firstSecond, lastSecond] = [Date.UTC(1684, 0) / 1000, Date.UTC(2255, 0) / 1000];

/** The range within the times there can be: moved as it is where it fits, cut where it is too long. */
export function withinTimes(from: number, to: number): [number, number] {
  const length = Math.min(to - from, lastSecond - firstSecond);
  const start = Math.min(Math.max(from, firstSecond), lastSecond - length);
  return [start, start + length];
}
