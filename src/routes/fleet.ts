import { listFleet } from "../../store/metadata/fleet/fleet.js";
import { createFleetValues } from "../devices/fleet-values.js";
import { type Route, route } from "../http/route.js";
import { fleetFacets, fleetItem, fleetSchema } from "../views/fleet.js";
import type { AppDeps } from "./deps.js";
import { fleetQuery, fleetRequest, formatCursor } from "./fleet-query.js";

export function fleetRoutes(deps: AppDeps): Route[] {
  const values = createFleetValues(deps);
  return [
    route({
      method: "get",
      path: "/api/v1/fleet",
      access: "read",
      tag: "Devices",
      summary: "Devices and gateways as a table: sorted, with their state, alerts and newest values",
      shape: { query: fleetQuery },
      answer: { status: 200, schema: fleetSchema },
      handle: async ({ writing, caller, query, request }) => {
        const requestedFleet = fleetRequest(query);
        const { items, next, count, isCountBounded, facets } = await listFleet(
          deps.devices,
          caller.tenant,
          requestedFleet,
        );
        const { of, lack } = await values.read(caller.tenant, items, request.signal);
        return {
          status: 200,
          body: {
            items: items.map((row) => fleetItem(row, of.get(row.id) ?? [], writing)),
            next: next === null ? null : formatCursor(next, requestedFleet.sort),
            count,
            isCountBounded,
            facets: facets === null ? null : fleetFacets(facets),
          },
          headers: lack === null ? {} : { Values: lack },
        };
      },
    }),
  ];
}
