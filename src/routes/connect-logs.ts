import { z } from "@hono/zod-openapi";
import type { ConnectionRecord } from "../../store/journal/record.js";
import { type Filter, integerColumn, type Page, stamps, textColumn } from "../../store/metadata/db/table.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import type { Route } from "../http/route.js";
import { intSchema, stampText, textOrNull } from "../http/schemas.js";
import { containsText } from "../http/text-search.js";
import { connectLogListed } from "../views/connect-logs.js";
import type { LogRow } from "../views/events.js";
import type { AppDeps } from "./deps.js";
import { journalLists } from "./journal-list.js";
import { type ListSpec, resourceRoutes } from "./resource.js";

const filters = {
  deviceName: textColumn("deviceName"),
  deviceID: textColumn("deviceID"),
  IP: textColumn("ip"),
  keepAlive: integerColumn("keepAlive"),
  connectStatus: integerColumn("connectStatus"),
  deviceStatus: integerColumn("deviceStatus"),
  tenantID: textColumn("tenantID"),
  ...stamps,
};

const isTenant = (tenantID: string, { like, value }: Filter): boolean =>
  like ? containsText(tenantID, String(value)) : tenantID === value;
const common = z.object({
  id: intSchema,
  deviceID: textOrNull,
  deviceName: textOrNull,
  IP: z.string(),
  keepAlive: intSchema,
  tenantID: z.string(),
  createAt: stampText,
  updateAt: z.null(),
});
const status = z.union([z.literal(0), z.literal(1)]);
const ofA = common.extend({ connectStatus: status, connectStatusLabel: z.string() }).openapi("ConnectLog");
const ofB = common.extend({ deviceStatus: intSchema, deviceStatusLabel: z.string() }).openapi("ConnectLogB");

/** A row with its device. */
interface OwnedRow extends LogRow<ConnectionRecord> {
  readonly tenantID: string;
}

/** Variant A leaves refused connections out of its lists and counts. */
const wanted = { A: "connections", B: "attempts" } as const;

export function connectLogRoutes(deps: AppDeps): Route[] {
  const routes = resourceRoutes(deps);
  const lists = journalLists(deps);
  const shared: Pick<
    ListSpec<OwnedRow>,
    "tag" | "filters" | "range" | "schema" | "schemaB" | "list" | "view"
  > = {
    tag: "Logs",
    filters,
    range: "createAt",
    schema: ofA,
    schemaB: ofB,
    list: async ({ caller, variant }, request, parent): Promise<Page<OwnedRow>> => {
      // All of a caller's rows are of its tenant.
      const isOwn = (filter: Filter) => filter.field !== "tenantID" || isTenant(caller.tenantID, filter);
      if (!request.filters.every(isOwn)) return { items: [], count: 0 };
      const page = await lists.list(caller.tenant, { listing: wanted[variant] }, request, parent);
      return { ...page, items: page.items.map((row) => ({ ...row, tenantID: caller.tenantID })) };
    },
    view: (row, context) => connectLogListed(row.tenantID, row, context),
  };
  return [
    routes.list<OwnedRow>({
      ...shared,
      path: "/api/v1/device_connect_logs",
      summary: "Connections of every device",
    }),
    routes.list<OwnedRow>({
      ...shared,
      path: "/api/v1/devices/{id}/connect_logs",
      summary: "Connections of one device",
      parent: anyDeviceIDs,
    }),
  ];
}
