import { z } from "@hono/zod-openapi";
import { textColumn } from "../../store/metadata/db/table.js";
import { anyDeviceIDs, gatewayIDs } from "../../store/metadata/devices/devices.js";
import type { Route } from "../http/route.js";
import { intSchema, stampText, textOrNull } from "../http/schemas.js";
import { accountEventListed, type EventRow, eventListed, gatewayEventListed } from "../views/events.js";
import type { AppDeps } from "./deps.js";
import { commonFilters, journalLists } from "./journal-list.js";
import { resourceRoutes } from "./resource.js";

const tag = "Logs";
const range = "createAt";

const ownFilters = {
  deviceID: textColumn("deviceID"),
  topic: textColumn("topic"),
  payload: textColumn("payload"),
  IP: textColumn("ip"),
  refused: { column: "refused", type: "boolean" },
  ...commonFilters,
} as const;
const filters = { deviceName: textColumn("deviceName"), ...ownFilters };
const accountFilters = { ...filters, productName: textColumn("productName") };
const gatewayFilters = { gatewayName: textColumn("gatewayName"), ...ownFilters };

const common = z.object({
  id: intSchema,
  deviceID: textOrNull,
  IP: z.string(),
  topic: z.string(),
  payload: z.string(),
  msgTime: stampText,
  createAt: stampText,
  updateAt: z.null(),
  refused: z.literal(true).optional().openapi({ description: "a policy refused it: no points, no delivery" }),
});
const event = common.extend({ deviceName: textOrNull }).openapi("Event");
const accountEventB = event.extend({ productName: textOrNull }).openapi("EventB");
const gatewayEvent = common.extend({ gatewayName: textOrNull }).openapi("GatewayEvent");

export function eventRoutes(deps: AppDeps): Route[] {
  const routes = resourceRoutes(deps);
  const { list } = journalLists(deps);
  const listing = { listing: "messages" } as const;
  return [
    routes.list<EventRow>({
      path: "/api/v1/device_events",
      tag,
      summary: "Uplink messages of every device",
      filters: accountFilters,
      range,
      schema: event,
      schemaB: accountEventB,
      list: ({ caller, variant }, request, parent) =>
        list(caller.tenant, { ...listing, withProducts: variant === "B" }, request, parent),
      view: accountEventListed,
    }),
    routes.list<EventRow>({
      path: "/api/v1/devices/{id}/events",
      tag,
      summary: "Uplink messages of one device",
      filters,
      range,
      parent: anyDeviceIDs,
      schema: event,
      list: ({ caller }, request, parent) => list(caller.tenant, listing, request, parent),
      view: eventListed,
    }),
    routes.list<EventRow>({
      path: "/api/v1/gateways/{id}/events",
      tag,
      summary: "Uplink messages of one gateway",
      filters: gatewayFilters,
      range,
      parent: gatewayIDs,
      schema: gatewayEvent,
      list: ({ caller }, request, parent) => list(caller.tenant, listing, request, parent),
      view: gatewayEventListed,
    }),
  ];
}
