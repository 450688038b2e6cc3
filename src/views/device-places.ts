import { z } from "@hono/zod-openapi";
import type { PlaceCluster, Places } from "../../store/metadata/devices/places.js";
import { intOrNull, intSchema, textOrNull } from "../http/schemas.js";
import type { ViewContext } from "./context.js";

const clusterSchema = z.object({
  longitude: z.number(),
  latitude: z.number(),
  count: intSchema,
  deviceIntID: intOrNull,
  deviceName: textOrNull,
  deviceStatus: intOrNull,
  worstSeverity: intOrNull,
});

export const placesSchema = z
  .object({ clusters: z.array(clusterSchema), total: intSchema, isTruncated: z.boolean() })
  .openapi("DevicePlaces");

export function places({ clusters, total, isTruncated }: Places, context: Pick<ViewContext, "variant">) {
  return { clusters: clusters.map((one) => cluster(one, context)), total, isTruncated };
}

function cluster(
  { longitude, latitude, count, device, worstSeverity }: PlaceCluster,
  { variant }: Pick<ViewContext, "variant">,
) {
  const status = device?.deviceStatus ?? null;
  return {
    longitude,
    latitude,
    count,
    deviceIntID: device?.id ?? null,
    deviceName: device?.deviceName ?? null,
    // Variant B knows no sleeping devices.
    deviceStatus: status === null || variant === "A" ? status : Math.min(status, 1),
    worstSeverity,
  };
}
