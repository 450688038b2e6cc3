import { z } from "@hono/zod-openapi";
import type { Metric } from "../../store/metadata/products/metrics.js";
import { createBody, integerField, name, textField } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { parseChartQuery, timeOrText } from "./data-body.js";
import { metricItemSchema } from "./data-schemas.js";
import type { AppDeps } from "./deps.js";
import { newMetric, optionalMetricField, requiredMetricField } from "./metric-draft.js";
import { previewMetric } from "./metrics-data.js";

/** The query fields of metrics_data, in a body: numbers may be numbers. */
const dataFields = {
  deviceID: textField,
  deviceIntID: integerField(1),
  time_unit: textField,
  startTime: timeOrText,
  endTime: timeOrText,
  timezone: textField,
  fill: textField,
  limit: integerField(1),
  maxPoints: integerField(1),
  timeFormat: textField,
};

const { dataPointIntID } = requiredMetricField;
const previewBody = createBody(
  { dataPointIntID },
  { ...optionalMetricField, metricName: name, ...dataFields },
).openapi("MetricPreview");

const items = z.array(metricItemSchema.extend({ id: z.null(), createAt: z.null(), updateAt: z.null() }));

/** A metric on real data before it is saved. */
export function metricPreviewRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "post",
      path: "/api/v1/metrics_data/preview",
      access: "read",
      tag: "Data",
      summary: "Values of a metric that is not saved, as metrics_data would answer them",
      shape: { body: previewBody },
      answer: { status: 200, schema: items },
      errors: ["DATA_NOT_FOUND"],
      making: "series",
      handle: async ({ caller, body, ...asker }) => {
        const { point, input } = await newMetric(deps.db, caller.tenant, body);
        const metric = {
          ...unsaved,
          ...input,
          metricName: body.metricName ?? "",
          productIntID: point.productIntID,
          productID: point.productID,
          dataPointName: point.dataPointName,
        } as Metric;
        const query = parseChartQuery(body, Object.keys(dataFields));
        return previewMetric(deps, caller.tenant, { metric, query }, asker);
      },
    }),
  ];
}

const unsaved = {
  id: 0,
  aggregateType: null,
  expressions: null,
  remark: null,
  createAt: 0,
  updateAt: null,
} as const;
