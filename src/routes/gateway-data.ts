import { z } from "@hono/zod-openapi";
import { newestPoints } from "../../query/newest.js";
import type { DataPoint } from "../../store/data-points.js";
import {
  type CarriedDevice,
  carriedDeviceFilters,
  carrierIDs,
  listCarriedDevices,
} from "../../store/gateway-data.js";
import type { AppDeps } from "../deps.js";
import { invalid } from "../http/errors.js";
import { resourceRoutes } from "../http/resource.js";
import type { Route } from "../http/route.js";
import { int, newestErrorSchema, stampOrNull } from "../http/schemas.js";
import { type DeviceData, deviceData, type Gauged } from "../views/gateway-data.js";

/** Newest values in one answer: each is a look into the series store. */
const valuesMax = 10_000;
const issueOnly = 2;

const schema = z
  .object({
    deviceIntID: int,
    deviceID: z.string(),
    deviceName: z.string(),
    data: z.array(
      z.object({
        dataPointIntID: int,
        dataPointID: z.string(),
        dataPointName: z.string(),
        time: stampOrNull,
        value: z.union([z.number(), z.string(), z.boolean(), z.array(z.number()), z.null()]),
        error: newestErrorSchema,
      }),
    ),
  })
  .openapi("DeviceData");

export function gatewayDataRoutes(deps: AppDeps): Route[] {
  const { db, catalog, series, refs } = deps;
  return [
    resourceRoutes(deps).list<DeviceData>({
      path: "/api/v1/gateways/{id}/devices_data",
      tag: "Gateways",
      summary:
        "The newest value of each data point that the devices of a gateway report, their children left out",
      filters: carriedDeviceFilters,
      parent: carrierIDs,
      schema,
      list: async ({ caller, request: { signal } }, request, gateway) => {
        const page = await listCarriedDevices(db, caller.tenant, gateway, request);
        const asked: { device: CarriedDevice; point: DataPoint }[] = [];
        for (const device of page.items) {
          const { points } = await catalog.model(device.productIntID);
          const reported = points.filter((point) => point.dataTransType !== issueOnly);
          asked.push(...reported.map((point) => ({ device, point })));
        }
        if (asked.length > valuesMax) {
          throw invalid({ _limit: `an answer holds at most ${valuesMax} values: ask for fewer devices` });
        }
        const newest = await newestPoints(series.under(signal), refs, asked);
        const data = new Map<CarriedDevice, Gauged[]>(page.items.map((device) => [device, []]));
        for (const [i, { device, point }] of asked.entries()) {
          data.get(device)?.push({ point, newest: newest[i] ?? null });
        }
        const items = page.items.map((device) => ({ device, data: data.get(device) ?? [] }));
        return { ...page, items };
      },
      view: deviceData,
    }),
  ];
}
