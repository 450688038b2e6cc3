/** Zones as the service shows them, for what of the console runs without it. */
import { zone } from "../../query/zone.js";
import { learnZone } from "../../src/console/app/charts/zone.js";
import { zoneShown } from "../../src/views/time-zones.js";

export function learnZones(...names: readonly string[]): void {
  for (const name of names) learnZone(name, zoneShown(zone(name)));
}
