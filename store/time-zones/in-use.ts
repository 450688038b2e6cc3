import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { zonesOfFiles } from "./folder.js";
import { packedTimeZones } from "./packed.js";
import type { TimeZones, ZoneFiles } from "./time-zones.js";

const inherited = "tidemark time zones";
let inUse: TimeZones | null = null;

/**
 * Sets the rules that the process goes by, threads that it starts from then on included; to be called before a zone is
 * asked for.
 */
export function useTimeZones(zones: TimeZones): void {
  inUse = zones;
  setEnvironmentData(inherited, zones.files ?? undefined);
}

/** The rules that the process goes by: those that came with it, unless others were set. */
export function timeZonesInUse(): TimeZones {
  inUse ??= inheritedZones() ?? packedTimeZones();
  return inUse;
}

function inheritedZones(): TimeZones | null {
  const files = getEnvironmentData(inherited) as unknown as ZoneFiles | undefined;
  return files === undefined ? null : zonesOfFiles(files);
}
