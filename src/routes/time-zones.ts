import { z } from "@hono/zod-openapi";
import { zone, zoneFault } from "../../query/zone.js";
import { timeZonesInUse } from "../../store/time-zones/in-use.js";
import { ApiError } from "../http/errors.js";
import { type Route, route } from "../http/route.js";
import { showZoneSource, zoneRules, zoneShown, zoneSource } from "../views/time-zones.js";

/** The time zones that the service knows, and its rules, so that nobody needs others beside them. */

const tag = "Service";
const params = z.object({
  name: z.string().openapi({
    param: { name: "name", in: "path" },
    description: "IANA name, its slashes as they are or as %2F; or `±HH:MM`",
    example: "Europe/Berlin",
  }),
});

export function timeZoneRoutes(): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/timezones",
      access: "read",
      tag,
      summary: "The names of all time zones, and which rules they go by",
      answer: {
        status: 200,
        schema: zoneSource.extend({ items: z.array(z.string()) }).openapi("TimeZones"),
      },
      handle: () => {
        const zones = timeZonesInUse();
        return { status: 200, body: { ...showZoneSource(zones), items: zones.names } };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/timezones/{name}",
      restOfPath: true,
      access: "read",
      tag,
      summary: "When the clocks of a time zone change, up to 2100",
      shape: { params },
      answer: { status: 200, schema: zoneRules.extend(zoneSource.pick({ version: true }).shape) },
      errors: ["DATA_NOT_FOUND"],
      handle: ({ params: { name } }) => {
        const fault = zoneFault(name);
        if (fault !== null)
          throw new ApiError("DATA_NOT_FOUND", "cannot find the time zone", { name: fault });
        return { status: 200, body: { ...zoneShown(zone(name)), version: timeZonesInUse().version } };
      },
    }),
  ];
}
