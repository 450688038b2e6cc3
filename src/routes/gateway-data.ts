import { z } from "@hono/zod-openapi";
import { readNewestPoints } from "../../query/newest.js";
import { pageBytesMax } from "../../store/metadata/db/page-bytes.js";
import {
  type CarriedDevice,
  carriedDeviceFilters,
  listCarriedDevices,
  parentIDs,
} from "../../store/metadata/gateway-data.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import { invalid } from "../http/errors.js";
import type { Route } from "../http/route.js";
import { intSchema, newestErrorSchema, stampOrNull } from "../http/schemas.js";
import { type DeviceData, deviceData, type Gauged } from "../views/gateway-data.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

/** Newest values in one answer: each costs a look into the series store. */
const valuesMax = 10_000;
const issueOnly = 2;

const schema = z
  .object({
    deviceIntID: intSchema,
    deviceID: z.string(),
    deviceName: z.string(),
    data: z.array(
      z.object({
        dataPointIntID: intSchema,
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
      parent: parentIDs,
      making: "series",
      schema,
      list: async ({ caller, request: { signal } }, request, gateway) => {
        const page = await listCarriedDevices(db, caller.tenant, gateway, request);
        /** The index at which the gauges of each device end. */
        const ends: number[] = [];
        const asked: { device: CarriedDevice; point: DataPoint }[] = [];
        for (const device of page.items) {
          const { points } = await catalog.model(device.productIntID);
          const reported = points.filter((point) => point.dataTransType !== issueOnly);
          asked.push(...reported.map((point) => ({ device, point })));
          ends.push(asked.length);
        }
        if (asked.length > valuesMax) {
          throw invalid({ _limit: `an answer holds at most ${valuesMax} values: ask for fewer devices` });
        }
        const newest = await readNewestPoints(series.under(signal), refs, asked, ends[0] ?? 0, pageBytesMax);
        const whole = ends.filter((end) => end <= newest.length).length;
        const items = page.items.slice(0, whole).map((device, i) => {
          const [from = 0, to = 0] = [ends[i - 1], ends[i]];
          const data: Gauged[] = asked
            .slice(from, to)
            .map(({ point }, n) => ({ point, newest: newest[from + n] ?? null }));
          return { device, data };
        });
        return { ...page, items, truncated: page.truncated === true || whole < page.items.length };
      },
      view: deviceData,
    }),
  ];
}
