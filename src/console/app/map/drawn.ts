/** What needs Leaflet: one file of the build, loaded with the first map. */
export { PlaceMap } from "./PlaceMap.js";
