/** Maps, whose library and outlines are loaded with the first one that is drawn. */
import { lazily } from "../lazy.js";

export const PlaceMap = lazily(async () => (await import("./drawn.js")).PlaceMap);
export const DeviceMap = lazily(async () => (await import("./drawn.js")).DeviceMap);
