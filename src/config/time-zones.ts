import { StoreError } from "../../store/lib/errors.js";
import { suggestZone } from "../../store/time-zones/abbreviations.js";
import { openZoneFolder } from "../../store/time-zones/folder.js";
import { packedTimeZones } from "../../store/time-zones/packed.js";
import type { TimeZones } from "../../store/time-zones/time-zones.js";

interface ZoneEnvironment {
  readonly TIMEZONE: string;
  readonly TIMEZONE_DATA?: string | undefined;
}

/** The rules in the folder that TIMEZONE_DATA names, otherwise the built-in ones; a text describes the error. */
export function readTimeZones({ TIMEZONE, TIMEZONE_DATA: folder }: ZoneEnvironment): TimeZones | string {
  try {
    const zones = folder === undefined ? packedTimeZones() : openZoneFolder(folder);
    return zones.rules(TIMEZONE) === undefined ? `TIMEZONE: ${TIMEZONE} ${suggestZone(TIMEZONE)}` : zones;
  } catch (error) {
    if (error instanceof StoreError) return `TIMEZONE_DATA: ${error.message}`;
    throw error;
  }
}
