import { packedTimeZones } from "./packed.js";
import type { TimeZones } from "./time-zones.js";

let inUse: TimeZones | null = null;

/** Sets the rules that the whole process goes by; to be called before a zone is asked for. */
export function useTimeZones(zones: TimeZones): void {
  inUse = zones;
}

/** The rules that the process goes by: those that came with it, unless others were set. */
export function timeZonesInUse(): TimeZones {
  inUse ??= packedTimeZones();
  return inUse;
}
