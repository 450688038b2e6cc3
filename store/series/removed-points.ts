import type { RemovedPoints } from "./series.js";

/** What two removals have taken together. */
export function joinRemoved(one: RemovedPoints, other: RemovedPoints): RemovedPoints {
  const times = [one.oldest, other.oldest].filter((time) => time !== null);
  return { points: one.points + other.points, oldest: times.length === 0 ? null : Math.min(...times) };
}
