import { wallText } from "../../query/time-text.js";
import type { Zone } from "../../query/zone.js";

/** Milliseconds → `YYYY-MM-DD HH:MM:SS` in the deployment's time zone; null stays null. */
export type Stamp = (at: number | null) => string | null;

export function createStamp(zone: Zone): Stamp {
  return (at) => (at === null ? null : wallText(zone, at));
}
