import { readNewestPoints } from "../../query/newest.js";
import { pageBytesMax } from "../../store/metadata/db/page-bytes.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { appTemplateFilters, templatesOfProduct } from "../../store/metadata/products/app-templates.js";
import { ApiError } from "../http/errors.js";
import type { Route } from "../http/route.js";
import { type ConsoleTemplate, consoleTemplate, consoleTemplateSchema } from "../views/app-templates.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

/** The app templates of a device's product, each with the newest value of its data point for that device. */
export function deviceConsoleRoutes(deps: AppDeps): Route[] {
  const { db, catalog, series, refs } = deps;
  return [
    resourceRoutes(deps).list<ConsoleTemplate>({
      path: "/api/v1/device_consoles/{id}",
      tag: "App templates",
      summary: "The console of a device or gateway: its product's templates with live values",
      filters: appTemplateFilters,
      parent: anyDeviceIDs,
      making: "series",
      schema: consoleTemplateSchema,
      list: async ({ caller, request: { signal } }, request, id) => {
        const device = await catalog.byIntID(caller.tenant, id);
        if (device === undefined) throw new ApiError("DATA_NOT_FOUND", "cannot find the device");
        const page = await templatesOfProduct(db, caller.tenant, request, device.productIntID);
        const gauges = page.items.map((point) => ({ device, point }));
        const newest = await readNewestPoints(series.under(signal), refs, gauges, 1, pageBytesMax);
        const items = page.items
          .slice(0, newest.length)
          .map((item, i) => ({ ...item, newest: newest[i] ?? null }));
        return { ...page, items, truncated: page.truncated === true || items.length < page.items.length };
      },
      view: consoleTemplate,
    }),
  ];
}
