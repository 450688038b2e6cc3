import { call } from "../api.js";
import { me } from "../session.js";
import type { Places } from "./places.js";

/**
 * What lies in a part of the map. Where the deployment speaks Variant B its gateways are devices too, and stand on the
 * map as they do for its other clients.
 */
export function fetchPlaces(
  query: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<Places> {
  const headers = { "Api-Variant": me.value?.variant ?? "A" };
  return call("GET", "/device_places", { query, headers, signal });
}
