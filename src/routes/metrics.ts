import { z } from "@hono/zod-openapi";
import { compileFormula } from "../../query/formula.js";
import { type DataPoint, dataPointsOf, getDataPoint, kindOf } from "../../store/data-points.js";
import {
  createMetric,
  getMetric,
  listMetrics,
  type MetricInput,
  metricFilters,
  metricIDs,
  removeMetrics,
  updateMetric,
} from "../../store/metrics.js";
import { resolveIDs } from "../../store/table.js";
import type { AppDeps } from "../deps.js";
import { invalid } from "../http/errors.js";
import {
  code,
  createBody,
  editBody,
  fixedFields,
  integer,
  name,
  present,
  refuseChanged,
  text,
} from "../http/fields.js";
import { idsQuery, idTexts, listQuery, only, pageAnswer, pageRequest } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { idParams, int, intOrNull, pageOf, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { codesOf } from "../views/labels.js";
import { metricDetail, metricListed, metricStored } from "../views/metrics.js";

const tag = "Metrics";
const fixed = ["productID", "productIntID"] as const;
const formulaMetric = 1;
const aggregateMetric = 2;
const rawData = 2;

const required = { metricName: name, dataPointIntID: integer(1) };
const optional = {
  metricType: code(...codesOf("metricType")),
  aggregateType: code(...codesOf("aggregateType")),
  aggregateData: code(...codesOf("aggregateData")),
  chartType: code(...codesOf("chartType")),
  /** A blank text is none. */
  expressions: z.string().transform((text) => (text.trim() === "" ? null : text)),
  isShow: code(0, 1),
  productItemIntID: integer(0),
  remark: text,
  /** Accepted and not returned. */
  expressionsLabel: text,
  dataStreamIntID: integer(0),
};

export const metricStoredSchema = z
  .object({
    id: int,
    metricName: z.string(),
    metricType: int,
    dataPointIntID: int,
    aggregateType: intOrNull,
    aggregateData: intOrNull,
    chartType: int,
    expressions: textOrNull,
    isShow: int,
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

export function metricRoutes({ db, now, stamp }: AppDeps): Route[] {
  const find = async (tenant: number, id: string) => only(await resolveIDs(db, metricIDs, tenant, [id]));
  return [
    route({
      method: "get",
      path: "/api/v1/metrics",
      access: "read",
      tag,
      summary: "List metrics",
      shape: { query: listQuery(metricFilters) },
      answer: { status: 200, schema: pageOf(listedSchema) },
      handle: async ({ caller, query }) => {
        const request = pageRequest(query, metricFilters);
        return pageAnswer(await listMetrics(db, caller.tenant, request), request, metricListed);
      },
    }),
    route({
      method: "get",
      path: "/api/v1/metrics/{id}",
      access: "read",
      tag,
      summary: "One metric",
      shape: { params: idParams },
      answer: { status: 200, schema: detailSchema },
      handle: async ({ caller, params }) => {
        const metric = await getMetric(db, caller.tenant, await find(caller.tenant, params.id));
        return { status: 200, body: metricDetail(metric, stamp) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/metrics",
      access: "write",
      tag,
      summary: "Create a metric",
      shape: { body: createBody(required, optional) },
      answer: { status: 201, schema: metricStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: async ({ caller, body }) => {
        const { expressionsLabel: _a, dataStreamIntID: _b, ...input } = body;
        const metricType = input.metricType ?? (input.expressions ? formulaMetric : aggregateMetric);
        const complete = {
          ...input,
          metricType,
          aggregateData: input.aggregateData ?? rawData,
          chartType: input.chartType ?? 1,
          isShow: input.isShow ?? 1,
          productItemIntID: input.productItemIntID || null,
        };
        const point = await checkMetric(db, caller.tenant, complete);
        const columns = present(complete) as MetricInput;
        const metric = await createMetric(db, caller, now(), point.productIntID, columns);
        return { status: 201, body: metricStored(metric, stamp) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/metrics/{id}",
      access: "write",
      tag,
      summary: "Edit a metric",
      shape: { params: idParams, body: editBody(required, optional).extend(fixedFields(fixed)) },
      answer: { status: 200, schema: metricStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: async ({ caller, params, body }) => {
        const id = await find(caller.tenant, params.id);
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
        const point = await checkMetric(db, caller.tenant, draft);
        if (point.productIntID !== metric.productIntID) {
          throw invalid({ dataPointIntID: "must be a data point of the metric's product" });
        }
        if (changes.productItemIntID === 0) changes.productItemIntID = null;
        const edited = await updateMetric(db, caller, now(), id, changes as MetricInput);
        return { status: 200, body: metricStored(edited, stamp) };
      },
    }),
    route({
      method: "delete",
      path: "/api/v1/metrics",
      access: "write",
      tag,
      summary: "Delete metrics",
      shape: { query: idsQuery },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND"],
      handle: async ({ caller, query }) => {
        await removeMetrics(
          db,
          caller,
          now(),
          await resolveIDs(db, metricIDs, caller.tenant, idTexts(query)),
        );
        return { status: 204 };
      },
    }),
  ];
}

interface MetricDraft {
  readonly dataPointIntID: number;
  readonly metricType: number | null;
  readonly aggregateType?: number | null | undefined;
  readonly aggregateData?: number | null | undefined;
  readonly expressions?: string | null | undefined;
}

/** The rules of a metric; answers its data point. A formula is checked wherever there is one. */
async function checkMetric(db: AppDeps["db"], tenant: number, draft: MetricDraft): Promise<DataPoint> {
  const point = await getDataPoint(db, tenant, draft.dataPointIntID).catch(() => undefined);
  if (point === undefined) throw invalid({ dataPointIntID: "there is no such data point" });
  if (kindOf(point.pointDataType) === "text") {
    throw invalid({ dataPointIntID: "must be a data point of a number or boolean type" });
  }
  const expressions = draft.expressions ?? null;
  if (draft.metricType === formulaMetric && expressions === null)
    throw invalid({ expressions: "is required" });
  if (draft.metricType === aggregateMetric && !draft.aggregateType)
    throw invalid({ aggregateType: "is required" });
  if (expressions !== null) {
    const ids = new Set((await dataPointsOf(db, point.productIntID)).map((one) => one.dataPointID));
    compileFormula(expressions, ids);
  }
  return point;
}
