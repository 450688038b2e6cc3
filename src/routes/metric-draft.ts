/** The rules of a metric that is to be saved, or tried before. */
import { z } from "@hono/zod-openapi";
import type { Db } from "../../store/metadata/db/db.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { MetricInput } from "../../store/metadata/products/metrics.js";
import { invalid } from "../http/errors.js";
import { codeField, createBody, integerField, name, present, textField } from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { checkFormula, getFormulaPoint } from "./formula-point.js";

const formulaMetric = 1;
const aggregateMetric = 2;
const rawData = 2;

export const requiredMetricField = { metricName: name, dataPointIntID: integerField(1) };
export const optionalMetricField = {
  metricType: codeField(...listCodes("metricType")),
  aggregateType: codeField(...listCodes("aggregateType")),
  aggregateData: codeField(...listCodes("aggregateData")),
  chartType: codeField(...listCodes("chartType")),
  /** A blank text counts as none. */
  expressions: z.string().transform((text) => (text.trim() === "" ? null : text)),
  isShow: codeField(0, 1),
  productItemIntID: integerField(0),
  remark: textField,
  /** Accepted and not returned. */
  expressionsLabel: textField,
  dataStreamIntID: integerField(0),
};

export const metricCreate = createBody(requiredMetricField, optionalMetricField).openapi("MetricCreate");

/** Adds the defaults of absent fields. @throws ApiError, StoreError naming every wrong field */
export async function newMetric(
  db: Db,
  tenant: number,
  body: Omit<z.output<typeof metricCreate>, "metricName">,
): Promise<{ readonly point: DataPoint; readonly input: MetricInput }> {
  const { expressionsLabel: _a, dataStreamIntID: _b, ...input } = body;
  const complete = {
    ...input,
    metricType: input.metricType ?? (input.expressions ? formulaMetric : aggregateMetric),
    aggregateData: input.aggregateData ?? rawData,
    chartType: input.chartType ?? 1,
    isShow: input.isShow ?? 1,
    productItemIntID: input.productItemIntID || null,
  };
  const point = await checkMetric(db, tenant, complete, null);
  return { point, input: present(complete) as MetricInput };
}

interface MetricDraft {
  readonly dataPointIntID: number;
  readonly metricType: number | null;
  readonly aggregateType?: number | null | undefined;
  readonly aggregateData?: number | null | undefined;
  readonly expressions?: string | null | undefined;
}

/** The rules of a metric; returns its data point. A formula is always checked, `stored` or new. */
export async function checkMetric(
  db: Db,
  tenant: number,
  draft: MetricDraft,
  stored: string | null,
): Promise<DataPoint> {
  const point = await getFormulaPoint(db, tenant, draft.dataPointIntID);
  const expressions = draft.expressions ?? null;
  if (draft.metricType === formulaMetric && expressions === null)
    throw invalid({ expressions: "is required" });
  if (draft.metricType === aggregateMetric && !draft.aggregateType)
    throw invalid({ aggregateType: "is required" });
  if (expressions !== null) await checkFormula(db, point, expressions, stored);
  return point;
}
