import { z } from "@hono/zod-openapi";
import { type Computing, createComputing } from "../../query/formula/computing.js";
import { asStored, memoizeFormula } from "../../query/formula/formula.js";
import type { DeviceFormula } from "../../query/formula-series.js";
import {
  aggregateMetric,
  aggregatesByType,
  answerValuesMax,
  formulaMetric,
  type MetricData,
} from "../../query/metrics.js";
import { originalData } from "../../query/original.js";
import { timeWriters } from "../../query/time-text.js";
import { zone } from "../../query/zone.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { type DataPoint, kindOf } from "../../store/metadata/products/data-points.js";
import type { Metric } from "../../store/metadata/products/metrics.js";
import type { SeriesQuestions } from "../../store/series/series.js";
import type { ProductModel } from "../devices/catalog.js";
import type { AnswerHold } from "../http/answer-room.js";
import { conditionalAnswer } from "../http/conditional-response.js";
import { ApiError, invalid } from "../http/errors.js";
import { Column } from "../http/json-stream.js";
import { inParallel } from "../http/parallel.js";
import { type Answer, type Route, route } from "../http/route.js";
import { int } from "../http/schemas.js";
import { historyTypes } from "../import-export/points/bounds.js";
import { formOf } from "../import-export/points/export-plan.js";
import { metricOfData } from "../views/metrics.js";
import { streamFormat, streamOriginal } from "./data-export.js";
import {
  type AskedChart,
  type ChartQuery,
  chartQuery,
  limitDefault,
  originalQuery,
  pointsAsked,
  readChartQuery,
} from "./data-query.js";
import type { AppDeps } from "./deps.js";
import { metricStoredSchema } from "./metrics.js";

const tag = "Data";
const compile = memoizeFormula();
const formulaType = 1;
const aggregateType = 2;
const formulaData = 1;
/** Series that one answer reads at once: as many as the engine has hands, and some that wait. */
const questionsAtOnce = 4;
/** Series of texts that are asked for together: each may hold one point that is longer than its part. */
const textsTogether = 16;
/** Texts of an answer, as they are held: each series has its part, and a point that is longer than that. */
export const answerTexts = { partsBytes: 32 << 20, bytesMax: 64 << 20 } as const;
/** Characters of texts that are made JSON at once, and points. */
const atOnce = { characters: 128 * 1024, points: 1000 } as const;

const timeAndValue = z.object({
  time: z.array(z.union([z.string(), z.number()])),
  value: z.array(z.union([z.number(), z.string(), z.boolean(), z.array(z.number()), z.null()])),
});

/** Whose an item is, where several devices are asked for. */
const owner = { deviceID: z.string().optional(), deviceIntID: int.optional() };

export function dataRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/metrics_data",
      access: "read",
      tag,
      summary: "Formula and aggregate values of the metrics of one or several devices",
      shape: { query: chartQuery },
      answer: {
        status: 200,
        schema: z.array(
          metricStoredSchema.extend({ dataPointName: z.string(), metricData: timeAndValue, ...owner }),
        ),
      },
      errors: ["DATA_NOT_FOUND"],
      making: "series",
      handle: ({ caller, query, request, hold }) => answerMetrics(deps, caller.tenant, query, request, hold),
    }),
    route({
      method: "get",
      path: "/api/v1/original_data",
      access: "read",
      tag,
      summary: "Raw points of one or several devices",
      shape: { query: originalQuery },
      answer: {
        status: 200,
        texts: Object.values(historyTypes),
        schema: z.array(
          z.object({ dataPointIntID: int, dataPointName: z.string(), originalData: timeAndValue, ...owner }),
        ),
      },
      errors: ["DATA_NOT_FOUND", "TOO_MANY_REQUESTS", "SERVICE_UNAVAILABLE"],
      making: "series",
      handle: ({ caller, query, request, hold }) => {
        const format = streamFormat(request);
        return format === null
          ? answerOriginal(deps, caller.tenant, query, request, hold)
          : streamOriginal(deps, caller.tenant, query, request, format);
      },
    }),
  ];
}

async function answerMetrics(
  deps: AppDeps,
  tenant: number,
  query: ChartQuery,
  request: Request,
  hold: AnswerHold | null,
): Promise<Answer> {
  const asked = await readChartQuery(deps, tenant, query);
  if (asked.metricType === aggregateType && query.time_unit === "real") {
    throw invalid({ time_unit: "must not be real for aggregate metrics" });
  }
  const questions = await questionsOf(deps, asked, ({ metrics, points }) => {
    const byID = new Map(points.map((point) => [point.id, point]));
    return metrics
      .filter((metric) => isAsked(metric, asked, query))
      .map((metric) => ({ metric, points: byID }));
  });
  const budget = createBudget(hold);
  const store = deps.series.under(request.signal);
  const computing = createComputing(deps.config.formulaSecondsMax);
  let errors = 0;
  const items = await inParallel(questions, questionsAtOnce, async ({ device, metric, points }) => {
    const data = await metricData({ ...deps, store }, computing, device, asked, metric, points);
    errors += data.errors;
    await budget(data.values.length, 0);
    return {
      ...metricOfData(metric, deps),
      metricData: columns(data, asked),
      ...ownerOf(device, asked),
    };
  });
  const headers: Record<string, string> = errors > 0 ? { "Formula-Errors": String(errors) } : {};
  return conditionalAnswer(request, items, headers, formOfTimes(asked));
}

/** What is asked of each device, devices in their order. */
async function questionsOf<Question extends object>(
  { catalog }: AppDeps,
  { devices }: AskedChart,
  ofModel: (model: ProductModel) => readonly Question[],
): Promise<(Question & { readonly device: DeviceRef })[]> {
  const models = new Map<number, readonly Question[]>();
  for (const { productIntID } of devices) {
    if (!models.has(productIntID)) models.set(productIntID, ofModel(await catalog.model(productIntID)));
  }
  return devices.flatMap((device) =>
    (models.get(device.productIntID) ?? []).map((question) => ({ ...question, device })),
  );
}

function ownerOf({ id, deviceID }: DeviceRef, { several }: AskedChart): object {
  return several ? { deviceID, deviceIntID: id } : {};
}

/** metricType absent with raw points: formulas only. */
function isAsked(metric: Metric, asked: AskedChart, query: ChartQuery): boolean {
  if (asked.metricIntID !== null && metric.id !== asked.metricIntID) return false;
  if (asked.metricType !== null) return metric.metricType === asked.metricType;
  return !(query.time_unit === "real" && metric.metricType === aggregateType && asked.metricIntID === null);
}

async function metricData(
  deps: AppDeps & { readonly store: SeriesQuestions },
  computing: Computing,
  device: DeviceRef,
  asked: AskedChart,
  metric: Metric,
  points: ReadonlyMap<number, DataPoint>,
): Promise<MetricData> {
  const point = points.get(metric.dataPointIntID);
  if (point === undefined) throw new ApiError("DATA_NOT_FOUND", "the metric's data point is gone");
  const series = deps.refs.of(device, { field: point.field, kind: kindOf(point.pointDataType) });
  const formula =
    metric.expressions === null ? null : bind(deps, computing, metric.expressions, device, points);
  if (metric.metricType === formulaType) {
    const range = asked.range("real");
    if (formula === null) throw new ApiError("INTERNAL_ERROR", "a formula metric without a formula");
    return formulaMetric(deps.store, series, formula, range, asked.limit ?? range.newest ?? limitDefault);
  }
  const aggregate = aggregatesByType.get(metric.aggregateType ?? 0);
  if (aggregate === undefined)
    throw new ApiError("INTERNAL_ERROR", "an aggregate metric without an aggregate");
  const ofFormula = metric.aggregateData === formulaData ? formula : null;
  const range = asked.range("hour");
  return aggregateMetric(deps.store, series, { aggregate, formula: ofFormula, fill: asked.fill }, range);
}

/** The other data points of the product by name; a name that has none any more is null throughout. */
function bind(
  { refs }: AppDeps,
  computing: Computing,
  text: string,
  device: DeviceRef,
  points: ReadonlyMap<number, DataPoint>,
): DeviceFormula {
  const ids = new Set([...points.values()].map((point) => point.dataPointID));
  const formula = compile(text, ids, asStored);
  const others = [...points.values()].map(
    (point) =>
      [
        point.dataPointID,
        refs.of(device, { field: point.field, kind: kindOf(point.pointDataType) }),
      ] as const,
  );
  return { formula: formula, others: new Map(others), computing };
}

async function answerOriginal(
  deps: AppDeps,
  tenant: number,
  query: ChartQuery,
  request: Request,
  hold: AnswerHold | null,
): Promise<Answer> {
  const asked = await readChartQuery(deps, tenant, query);
  const range = asked.range("real");
  const most = range.newest ?? asked.limit ?? limitDefault;
  const questions = await questionsOf(deps, asked, (model) => piecesOf(pointsAsked(model, asked), most));
  const store = deps.series.under(request.signal);
  const texts = questions.reduce((sum, { points }) => sum + points.filter(isText).length, 0);
  const textBytesMax = Math.floor(answerTexts.partsBytes / Math.max(1, texts));
  const size = { limit: asked.limit, limitDefault, maxPoints: asked.maxPoints, textBytesMax };
  const write = timeWriters[asked.format];
  const budget = createBudget(hold);
  let truncated = false;
  const items = await inParallel(questions, questionsAtOnce, async ({ device, points }) => {
    const series = points.map((point) => ({
      series: deps.refs.of(device, { field: point.field, kind: kindOf(point.pointDataType) }),
      form: formOf(point),
    }));
    const answers = await originalData(store, series, range, size);
    for (const { times, texts } of answers) await budget(times.length, texts.bytes);
    return answers.map((data, i) => {
      truncated ||= data.truncated;
      return {
        dataPointIntID: points[i]?.id,
        dataPointName: points[i]?.dataPointName,
        originalData: {
          time: timeColumn(data.times, (time) => write(range.zone, time)),
          value: new Column(
            data.times.length,
            data.values,
            null,
            Math.max(
              1,
              Math.min(atOnce.points, Math.floor(atOnce.characters / Math.max(1, data.texts.longest))),
            ),
          ),
        },
        ...ownerOf(device, asked),
      };
    });
  });
  const headers: Record<string, string> = truncated ? { Truncated: "true" } : {};
  return conditionalAnswer(request, items.flat(), headers, formOfTimes(asked));
}

/** Data points of a device are asked for together, as far as all that is under way fits an answer. */
function piecesOf(points: readonly DataPoint[], valuesEach: number): { points: readonly DataPoint[] }[] {
  const together = Math.max(1, Math.floor(answerValuesMax / questionsAtOnce / valuesEach));
  const pieces: { points: DataPoint[] }[] = [];
  let texts = 0;
  for (const point of points) {
    const piece = pieces.at(-1);
    const isFull = piece?.points.length === together || (isText(point) && texts === textsTogether);
    if (piece === undefined || isFull) {
      pieces.push({ points: [] });
      texts = 0;
    }
    pieces.at(-1)?.points.push(point);
    if (isText(point)) texts++;
  }
  return pieces;
}

const isText = ({ pointDataType }: DataPoint): boolean => kindOf(pointDataType) === "text";

/** Windows carry their calendar start: as the wall clock shows it, or as an exact instant. */
function columns(data: MetricData, asked: AskedChart): object {
  const place = zone(asked.timezone);
  const write = timeWriters[asked.format];
  const time =
    data.labels !== null && asked.format === "text"
      ? timeColumn(data.labels, wallLabel)
      : timeColumn(data.times, (at) => write(place, at));
  return { time, value: new Column(data.values.length, (from, to) => data.values.slice(from, to)) };
}

/** Times as they are written, when they are. */
function timeColumn(times: ArrayLike<number>, write: (time: number) => string | number): Column {
  const all = times instanceof Float64Array ? times : Float64Array.from(times);
  return new Column(all.length, (from, to) => Array.from(all.subarray(from, to), write), all);
}

const formOfTimes = ({ format, timezone }: AskedChart): string => `${format} ${timezone}`;

/** The calendar start of a window, as its wall clock shows it. */
function wallLabel(wall: number): string {
  const iso = new Date(wall).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** A time and a value. */
const bytesOfValue = 16;

/**
 * Counts the values of an answer, and what its texts hold, and waits for room for them. @throws ApiError
 * PARAMETER_INVALID once they are too many, TOO_MANY_REQUESTS
 */
function createBudget(hold: AnswerHold | null): (values: number, textBytes: number) => Promise<void> {
  const total = { values: 0, textBytes: 0 };
  return async (values, textBytes) => {
    total.values += values;
    total.textBytes += textBytes;
    if (total.values > answerValuesMax) {
      throw invalid({ limit: `an answer holds at most ${answerValuesMax} values: shorten the range` });
    }
    if (total.textBytes > answerTexts.bytesMax) {
      const told = `at most ${answerTexts.bytesMax >> 20} MiB of texts: ask for fewer devices or data points`;
      throw invalid({ limit: `an answer holds ${told}` });
    }
    await hold?.take(values * bytesOfValue + textBytes);
  };
}
