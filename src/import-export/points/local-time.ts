import { type LocalTime, utcMicros } from "../../../ingest/decode/time.js";
import type { Zone } from "../../../query/zone.js";

/** Reads wall-clock times in a zone. */
export function localTimeIn(zone: Zone): LocalTime {
  return (wall) => zone.fromWall(utcMicros(wall) / 1000) * 1000;
}
