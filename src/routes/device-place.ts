import { z } from "@hono/zod-openapi";
import { toBounds } from "../../query/range.js";
import type { SeriesRefs } from "../../query/series-refs.js";
import { timeWriters } from "../../query/time-text.js";
import { type LocationSeries, track } from "../../query/track.js";
import type { DeviceInput } from "../../store/metadata/devices/columns.js";
import { anyDeviceIDs, updateDevice } from "../../store/metadata/devices/devices.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { type DataPoint, toSeriesKind } from "../../store/metadata/products/data-points.js";
import { deviceFields } from "../devices/rules.js";
import { editBody, jsonField, present, textField } from "../http/fields.js";
import { type Route, type RouteAnswer, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import { viewContext } from "../views/context.js";
import { deviceStored } from "../views/devices.js";
import { gatewayStored } from "../views/gateways.js";
import { dataQuery, readQuery } from "./data-query.js";
import type { AppDeps } from "./deps.js";
import { deviceStoredSchema, deviceStoredSchemaB, gatewayStoredSchema } from "./device-schemas.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

/** Where devices are and where they have been. */

const coordinates = { longitude: deviceFields.longitude, latitude: deviceFields.latitude };
const place = editBody({}, { ...coordinates, location: jsonField }).openapi("DevicePlace");
const placeB = editBody({}, { ...coordinates, location: textField }).openapi("DevicePlaceB");

/** Positions of one answer. */
const positionsMax = 10_000;

const trackQuery = dataQuery.pick({
  deviceID: true,
  deviceIntID: true,
  startTime: true,
  endTime: true,
  timezone: true,
  timeFormat: true,
});
const positionSchema = z
  .object({
    time: z.union([z.string(), z.number()]).openapi({ example: "2026-11-21 10:00:00" }),
    lnglat: z
      .array(z.number())
      .length(2)
      .openapi({ example: [121.4737, 31.2304] }),
  })
  .openapi("DevicePosition");

export function devicePlaceRoutes(deps: AppDeps): Route[] {
  const { devices, now, brokers } = deps;
  const routes = resourceRoutes(deps);

  const move = async (asking: ResourceRequest, id: string, input: DeviceInput): Promise<RouteAnswer> => {
    const device = await routes.find(asking, anyDeviceIDs, id);
    const moved = await updateDevice(devices, asking.caller, now(), device, input);
    const context = { ...viewContext(asking), brokers };
    const isGateway = moved.kind === "gateway" && asking.variant === "A";
    return { status: 200, body: isGateway ? gatewayStored(moved, context) : deviceStored(moved, context) };
  };

  return [
    route(
      {
        method: "put",
        path: "/api/v1/devices/{id}/location",
        access: "write",
        tag: "Devices",
        summary: "Say where a device or gateway stands",
        shape: { params: idParams, body: place },
        answer: { status: 200, schema: z.union([deviceStoredSchema, gatewayStoredSchema]) },
        handle: (input) => move(input, input.params.id, present(input.body) as DeviceInput),
      },
      {
        shape: { params: idParams, body: placeB },
        answer: { status: 200, schema: deviceStoredSchemaB },
        handle: (input) => move(input, input.params.id, present(input.body) as DeviceInput),
      },
    ),
    route({
      method: "get",
      path: "/api/v1/device_track",
      access: "read",
      tag: "Devices",
      summary: `Where a device has been: the newest ${positionsMax} positions of the range, ascending`,
      shape: { query: trackQuery },
      answer: { status: 200, schema: z.array(positionSchema) },
      errors: ["DATA_NOT_FOUND"],
      making: "series",
      handle: async ({ caller, query, request }) => {
        const { device, format, range } = await readQuery(deps, caller.tenant, query);
        const asked = range("real");
        const { points } = await deps.catalog.model(device.productIntID);
        const found = await track(
          deps.series.under(request.signal),
          locationSeries(deps.refs, device, points),
          toBounds(asked),
          positionsMax,
        );
        const write = timeWriters[format];
        return {
          status: 200,
          body: found.positions.map(({ time, lnglat }) => ({ time: write(asked.zone, time), lnglat })),
          headers: found.truncated ? { Truncated: "true" } : {},
        };
      },
    }),
  ];
}

const placeType = 6;
const longitudeType = 1;
const latitudeType = 2;

/** If several data points hold longitude or latitude, the first counts, so that the two belong together. */
function locationSeries(refs: SeriesRefs, device: DeviceRef, points: readonly DataPoint[]): LocationSeries {
  const seriesOfPoint = (point: DataPoint) =>
    refs.of(device, { field: point.field, kind: toSeriesKind(point.pointDataType) });
  const coordinate = (locationType: number) => {
    const point = points.find((one) => one.isLocationType === 1 && one.locationType === locationType);
    return point === undefined ? null : seriesOfPoint(point);
  };
  return {
    positions: points.filter((point) => point.pointDataType === placeType).map(seriesOfPoint),
    longitude: coordinate(longitudeType),
    latitude: coordinate(latitudeType),
  };
}
