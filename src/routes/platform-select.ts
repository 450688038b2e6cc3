import { z } from "@hono/zod-openapi";
import type { Listing, Page, PageRequest } from "../../store/metadata/db/table.js";
import {
  selectDataPoints,
  selectDataStreams,
  selectDevices,
  selectionFilters,
  selectMetricDataPoints,
  selectProducts,
} from "../../store/metadata/selections.js";
import { invalid } from "../http/errors.js";
import { listQuery, pageLimitMax, pageRequest } from "../http/list-query.js";
import { type Route, type RouteAnswer, route, type Variant } from "../http/route.js";
import { intSchema } from "../http/schemas.js";
import type { Writing } from "../http/writing.js";
import {
  dataPointSelection,
  deviceSelection,
  dictCode,
  type PointForm,
  productSelection,
  selection,
} from "../views/platform-select.js";
import type { AppDeps } from "./deps.js";
import type { ResourceRequest } from "./resource.js";

/** Labels and values for forms: the codes of the interface, and the records that a form chooses from. */

const tag = "Selection helpers";

const productItem = z
  .object({
    label: z.string(),
    value: z.string(),
    attr: z.object({ cloudProtocol: intSchema, productIntID: intSchema }),
  })
  .openapi("ProductSelection");
const deviceItem = z
  .object({ label: z.string(), value: z.string(), attr: z.object({ deviceIntID: intSchema }) })
  .openapi("DeviceSelection");
const pointAttr = z.object({
  dataTransType: intSchema,
  enum: z.array(z.object({ value: z.unknown(), label: z.unknown() })).nullable(),
  pointDataType: intSchema,
});
const pointItem = z
  .object({ label: z.string(), value: z.union([intSchema, z.string()]), attr: pointAttr.optional() })
  .openapi("DataPointSelection");
const item = z.object({ label: z.string(), value: intSchema }).openapi("Selection");

export function platformSelectRoutes(deps: AppDeps): Route[] {
  const { db } = deps;
  return [
    dictCodeRoute(),
    selectRoute(deps, {
      name: "products",
      summary: "Products, by productID",
      filters: selectionFilters.products,
      item: productItem,
      select: async ({ caller }, request) =>
        shown(await selectProducts(db, caller.tenant, request), productSelection),
    }),
    selectRoute(deps, {
      name: "devices",
      summary: "Devices, by deviceID; in Variant B gateways too",
      filters: selectionFilters.devices,
      item: deviceItem,
      select: async ({ caller, variant }, request) =>
        shown(await selectDevices(db, caller.tenant, request, variant === "B"), deviceSelection),
    }),
    selectRoute(deps, {
      name: "data_points",
      summary: "Data points, by record id; of a stream alone by dataPointID",
      filters: selectionFilters.dataPoints,
      further: { intID: intIDParameter },
      item: pointItem,
      select: async ({ caller }, request, query) => {
        const form = pointForm(query.intID, request);
        const points = await selectDataPoints(db, caller.tenant, request);
        return shown(points, (point) => dataPointSelection(point, form));
      },
    }),
    selectRoute(deps, {
      name: "data_streams",
      summary: "Data streams, by record id",
      filters: selectionFilters.dataStreams,
      item,
      select: async ({ caller }, request) =>
        shown(await selectDataStreams(db, caller.tenant, request), selection),
    }),
    selectRoute(deps, {
      name: "metric_data_points",
      summary: "Data points with numbers, by record id",
      filters: selectionFilters.metricDataPoints,
      item,
      select: async ({ caller }, request) =>
        shown(await selectMetricDataPoints(db, caller.tenant, request), selection),
    }),
  ];
}

interface SelectSpec {
  readonly name: string;
  readonly summary: string;
  readonly filters: Listing["filters"];
  readonly further?: Readonly<Record<string, z.ZodType>>;
  readonly item: z.ZodType;
  select(
    asking: ResourceRequest,
    request: PageRequest,
    query: Readonly<Record<string, unknown>>,
  ): Promise<Pick<Page<object>, "items" | "truncated">>;
}

const shown = <Row>({ items, truncated = false }: Page<Row>, view: (row: Row) => object) => ({
  items: items.map(view),
  truncated,
});

/** An array of at most 1,000 rows, newest first; filters and `_limit` work as in a list. */
function selectRoute(
  { zone }: Pick<AppDeps, "zone">,
  { name, summary, filters, further = {}, item, select }: SelectSpec,
): Route {
  return route({
    method: "get",
    path: `/api/v1/platform_select/${name}`,
    access: "read",
    tag,
    summary,
    shape: { query: listQuery({ filters }).extend(further) },
    answer: { status: 200, schema: z.array(item) },
    handle: async (input) => {
      const query: Readonly<Record<string, unknown>> = input.query;
      const request = pageRequest(
        { ...query, _limit: query._limit || String(pageLimitMax) },
        { filters },
        zone,
      );
      const { items, truncated } = await select(input, request, query);
      return { status: 200, body: items, headers: truncated ? { Truncated: "true" } : {} };
    },
  });
}

const intIDParameter = z
  .string()
  .optional()
  .openapi({ description: "true: by record id, with attr", example: "true" });

/** @throws ApiError PARAMETER_INVALID if intID is neither true nor false */
function pointForm(intID: unknown, { filters }: PageRequest): PointForm {
  if (intID === "true") return "idAndAttr";
  if (intID !== undefined && intID !== "" && intID !== "false") {
    throw invalid({ intID: "must be true or false" });
  }
  const asked = new Set(filters.map(({ field }) => field));
  const ofStreamAlone =
    asked.has("dataStreamIntID") && !asked.has("productIntID") && !asked.has("streamDataType");
  return ofStreamAlone ? "dataPointID" : "id";
}

function dictCodeRoute(): Route {
  const answer = (variant: Variant, { language }: Writing): RouteAnswer => {
    return { status: 200, body: dictCode(variant, language), headers: { "Label-Language": language } };
  };
  return route(
    {
      method: "get",
      path: "/api/v1/platform_select/dict_code",
      access: "read",
      tag,
      summary: "The codes of the interface and their labels",
      answer: { status: 200, schema: dictSchema("A").openapi("DictCode") },
      handle: ({ writing }) => answer("A", writing),
    },
    {
      answer: { status: 200, schema: dictSchema("B").openapi("DictCodeB") },
      handle: ({ writing }) => answer("B", writing),
    },
  );
}

/** One array for each name; the codes of a name are all numbers or all texts. */
function dictSchema(variant: Variant) {
  const names = Object.entries(dictCode(variant)).map(([name, entries]) => {
    const value = typeof entries[0]?.value === "string" ? z.string() : intSchema;
    return [name, z.array(z.object({ label: z.string(), value }))] as const;
  });
  return z.object(Object.fromEntries(names));
}
