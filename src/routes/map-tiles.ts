import { z } from "@hono/zod-openapi";
import { addressBlock } from "../../ingest/access/address-block.js";
import { ApiError, invalid } from "../http/errors.js";
import { createByteStream } from "../http/json-stream.js";
import { wholeNumber } from "../http/list-query.js";
import { type Route, route } from "../http/route.js";
import { type Tile, tileTypes } from "../map-tiles/fetch-tile.js";
import type { AppDeps } from "./deps.js";

/** The pictures below the devices of a map: this service fetches them, so that a browser need not ask another host. */

const zoomMax = 22;
const number = (description: string, example: string) => z.string().openapi({ description, example });
const placeParams = z.object({
  z: number(`zoom, 0 to ${zoomMax}`, "5"),
  x: number("column, from the west", "26"),
  y: number("row, from the north", "12"),
});

/** One clear pixel: of a tile that the server does not have, what lies below is seen. */
const clear: Tile = {
  type: "image/png",
  bytes: Uint8Array.from(
    Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=",
      "base64",
    ),
  ),
};

export function mapTileRoutes({ mapTiles }: Pick<AppDeps, "mapTiles">): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/map_tiles/{z}/{x}/{y}",
      access: "read",
      tag: "Devices",
      summary:
        "A tile of the deployment's map, as its tile server has it; a clear one where the server has none, 404 where there is no server",
      shape: { params: placeParams },
      making: "outside",
      answer: { status: 200, type: tileTypes, schema: z.string().openapi({ format: "binary" }) },
      errors: ["BAD_GATEWAY", "GATEWAY_TIMEOUT"],
      handle: async ({ caller, address, params, request }) => {
        const place = readPlace(params);
        if (mapTiles === null) throw new ApiError("DATA_NOT_FOUND", "this deployment has no tile server");
        const holder = `${caller.tenant} ${addressBlock(address)}`;
        const { tile, freshMs } = await mapTiles.tile(place, { holder, signal: request.signal });
        const { bytes, type } = tile ?? clear;
        const seconds = Math.ceil(freshMs / 1000);
        return {
          status: 200,
          type,
          body: createByteStream(inOne(bytes)),
          held: bytes.length,
          headers: {
            "Content-Length": String(bytes.length),
            "Cache-Control": seconds > 0 ? `private, max-age=${seconds}` : "no-store",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
          },
        };
      },
    }),
  ];
}

async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

/** @throws ApiError PARAMETER_INVALID naming each wrong parameter */
function readPlace({ z, x, y }: z.output<typeof placeParams>) {
  const errors: Record<string, string> = {};
  const zoom = wholeNumber(z, 0, 0, zoomMax, "z", errors);
  const last = 2 ** zoom - 1;
  const place = {
    z: zoom,
    x: wholeNumber(x, 0, 0, last, "x", errors),
    y: wholeNumber(y, 0, 0, last, "y", errors),
  };
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return place;
}
