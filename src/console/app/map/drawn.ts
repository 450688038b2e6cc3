/** What needs Leaflet: one file of the build, loaded with the first map. */

export { DeviceMap } from "./DeviceMap.js";
export { PlaceMap } from "./PlaceMap.js";
