import { z } from "@hono/zod-openapi";
import {
  createMetric,
  getMetric,
  listMetrics,
  type Metric,
  type MetricInput,
  metricFilters,
  metricIDs,
  removeMetrics,
  updateMetric,
} from "../../store/metadata/products/metrics.js";
import { invalid } from "../http/errors.js";
import { editBody, fixedFields, present, refuseChanged } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { metricDetail, metricListed, metricStored } from "../views/metrics.js";
import type { AppDeps } from "./deps.js";
import {
  checkMetric,
  metricCreate,
  newMetric,
  optionalMetricField,
  requiredMetricField,
} from "./metric-draft.js";
import { resourceRoutes } from "./resource.js";

const tag = "Metrics";
const fixed = ["productID", "productIntID"] as const;
const metricEdit = editBody(requiredMetricField, optionalMetricField)
  .extend(fixedFields(fixed))
  .openapi("MetricEdit");

export const metricStoredSchema = z
  .object({
    id: intSchema,
    metricName: z.string(),
    metricType: intSchema,
    dataPointIntID: intSchema,
    aggregateType: intOrNull,
    aggregateData: intOrNull,
    chartType: intSchema,
    expressions: textOrNull,
    isShow: intSchema,
    productID: z.string(),
    productItemIntID: intOrNull,
    remark: textOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("MetricStored");
const detailSchema = metricStoredSchema
  .extend({
    metricTypeLabel: textOrNull,
    dataPointName: z.string(),
    aggregateTypeLabel: textOrNull,
    aggregateDataLabel: textOrNull,
    chartTypeLabel: textOrNull,
    createUser: textOrNull,
  })
  .openapi("MetricDetail");
const listedSchema = detailSchema
  .pick({ id: true, metricName: true, metricType: true, metricTypeLabel: true, dataPointName: true })
  .openapi("Metric");

export function metricRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<Metric>({
      path: "/api/v1/metrics",
      tag,
      summary: "List metrics",
      filters: metricFilters,
      schema: listedSchema,
      list: ({ caller }, request) => listMetrics(db, caller.tenant, request),
      view: metricListed,
    }),
    routes.detail<Metric>({
      path: "/api/v1/metrics/{id}",
      tag,
      summary: "One metric",
      ids: metricIDs,
      schema: detailSchema,
      get: ({ caller }, id) => getMetric(db, caller.tenant, id),
      view: metricDetail,
    }),
    route({
      method: "post",
      path: "/api/v1/metrics",
      access: "write",
      tag,
      summary: "Create a metric",
      shape: { body: metricCreate },
      answer: { status: 201, schema: metricStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: async ({ writing, caller, body }) => {
        const { point, input } = await newMetric(db, caller.tenant, body);
        const metric = await createMetric(db, caller, now(), point.productIntID, input);
        return { status: 201, body: metricStored(metric, writing) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/metrics/{id}",
      access: "write",
      tag,
      summary: "Edit a metric",
      shape: { params: idParams, body: metricEdit },
      answer: { status: 200, schema: metricStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: async ({ writing, caller, variant, params, body }) => {
        const id = await routes.find({ caller, variant }, metricIDs, params.id);
        const metric = await getMetric(db, caller.tenant, id);
        refuseChanged(body, metric, fixed);
        const { expressionsLabel: _a, dataStreamIntID: _b, productID: _c, productIntID: _d, ...input } = body;
        const changes = present(input);
        for (const field of ["metricType", "chartType", "isShow"] as const) {
          if (changes[field] === null) throw invalid({ [field]: "must not be null" });
        }
        const { dataPointIntID, metricType, aggregateType, aggregateData, expressions } = {
          ...metric,
          ...changes,
        };
        const draft = { dataPointIntID, metricType, aggregateType, aggregateData, expressions };
        const point = await checkMetric(db, caller.tenant, draft, metric.expressions);
        if (point.productIntID !== metric.productIntID) {
          throw invalid({ dataPointIntID: "must be a data point of the metric's product" });
        }
        if (changes.productItemIntID === 0) changes.productItemIntID = null;
        const edited = await updateMetric(db, caller, now(), id, changes as MetricInput);
        return { status: 200, body: metricStored(edited, writing) };
      },
    }),
    routes.remove({
      path: "/api/v1/metrics",
      tag,
      summary: "Delete metrics",
      ids: metricIDs,
      errors: [],
      remove: ({ caller }, ids) => removeMetrics(db, caller, now(), ids),
    }),
  ];
}
