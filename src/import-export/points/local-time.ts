import type { Zone } from "../../../query/zone.js";
import type { LocalTime } from "../../../store/lib/iso-time.js";

/** Reads wall-clock times in a zone. */
export function localTimeIn(zone: Zone): LocalTime {
  return (wallMs) => zone.fromWall(wallMs) * 1000;
}
