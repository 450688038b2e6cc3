import { z } from "@hono/zod-openapi";
import { readNumber } from "../../store/lib/number-text.js";
import { type Box, clustersMax } from "../../store/metadata/devices/place-grid.js";
import { devicePlaces, type PlaceQuery } from "../../store/metadata/devices/places.js";
import { invalid } from "../http/errors.js";
import { wholeNumber } from "../http/list-query.js";
import { type Route, route, type Variant } from "../http/route.js";
import { places, placesSchema } from "../views/device-places.js";
import type { AppDeps } from "./deps.js";

/** Where the devices of a tenant are now, for a map. */

const zoomMax = 22;

const parameter = (description: string, example?: string) =>
  z
    .string()
    .optional()
    .openapi({ description, ...(example === undefined ? {} : { example }) });

/** The part of the earth that a map shows. */
export const viewQuery = z.object({
  bbox: parameter(
    "west,south,east,north in degrees; a west that lies east of east crosses the antimeridian",
    "100,20,125,42",
  ),
  zoom: parameter(
    `zoom of the map, 0 to ${zoomMax}: devices within some 64 of its pixels are one cluster`,
    "5",
  ),
});
const placesQuery = viewQuery.extend({
  productIntID: parameter("record id of a product"),
  groupIntID: parameter("record id of a group"),
  deviceIntID: parameter("record id of a device: where it alone stands"),
});

export function devicePlacesRoutes({ db }: Pick<AppDeps, "db">): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/device_places",
      access: "read",
      tag: "Devices",
      summary: `Where devices stand in a box, in at most ${clustersMax} clusters; a cluster of one names its device`,
      shape: { query: placesQuery },
      answer: { status: 200, schema: placesSchema },
      handle: async ({ caller, query, variant }) => {
        const found = await devicePlaces(db, caller.tenant, readPlaces(query, variant));
        return { status: 200, body: places(found, { variant }) };
      },
    }),
  ];
}

/** @throws ApiError PARAMETER_INVALID naming each wrong parameter */
function readPlaces(query: z.output<typeof placesQuery>, variant: Variant): PlaceQuery {
  const errors: Record<string, string> = {};
  const recordID = (name: "productIntID" | "groupIntID" | "deviceIntID") =>
    query[name] ? wholeNumber(query[name], 0, 1, Number.MAX_SAFE_INTEGER, name, errors) : null;
  const view = readView(query, errors);
  const productIntID = recordID("productIntID");
  const groupIntID = recordID("groupIntID");
  const deviceIntID = recordID("deviceIntID");
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return { ...view, kinds: placedKinds(variant), productIntID, groupIntID, deviceIntID };
}

/** Wrong parameters are noted in `errors`. */
export function readView(
  query: z.output<typeof viewQuery>,
  errors: Record<string, string>,
): Pick<PlaceQuery, "box" | "zoom"> {
  const box = readBox(query.bbox ?? "");
  if (box === null) {
    errors.bbox =
      "must be west,south,east,north in degrees, with south below north and another west than east";
  }
  if (!query.zoom) errors.zoom = "is required";
  const zoom = wholeNumber(query.zoom || undefined, 0, 0, zoomMax, "zoom", errors);
  return { box: box ?? { west: 0, south: 0, east: 0, north: 0 }, zoom };
}

/** Variant A's devices are without gateways. */
export const placedKinds = (variant: Variant): PlaceQuery["kinds"] =>
  variant === "A" ? ["device"] : ["device", "gateway"];

function readBox(text: string): Box | null {
  const numbers = text.split(",").map((one) => readNumber(one));
  const [west = null, south = null, east = null, north = null] = numbers;
  if (numbers.length !== 4 || west === null || south === null || east === null || north === null) return null;
  const isOnEarth = Math.max(Math.abs(west), Math.abs(east)) <= 180 && south >= -90 && north <= 90;
  return isOnEarth && south < north && west !== east ? { west, south, east, north } : null;
}
