/** Raw points of the requested devices, as one JSON answer. */
import { answerValuesMax } from "../../query/metrics.js";
import { originalData } from "../../query/original.js";
import { timeWriters } from "../../query/time-text.js";
import { type DataPoint, toSeriesKind } from "../../store/metadata/products/data-points.js";
import type { ProductModel } from "../devices/catalog.js";
import { conditionalAnswer } from "../http/conditional-response.js";
import { Column } from "../http/json-stream.js";
import { inParallel } from "../http/parallel.js";
import type { Reservation } from "../http/response-budget.js";
import type { RouteAnswer } from "../http/route.js";
import { originalForm } from "../import-export/points/export-plan.js";
import {
  answerTexts,
  createBudget,
  createSeriesQueries,
  formOfTimes,
  type QueryBudget,
  queriesAtOnce,
  showOwner,
  timeColumn,
} from "./data-answers.js";
import {
  type ChartQuery,
  type ChartRequest,
  limitDefault,
  listRequestedPoints,
  readChartQuery,
} from "./data-query.js";
import type { AppDeps } from "./deps.js";

/** Text series that are read together: each may hold one point that is longer than its share. */
const textsTogether = 16;
/** Characters of texts, and points, that are made JSON at once. */
const atOnce = { characters: 128 * 1024, points: 1000 } as const;

export async function answerOriginal(
  deps: AppDeps,
  tenant: number,
  query: ChartQuery,
  request: Request,
  hold: Reservation | null,
): Promise<RouteAnswer> {
  const asked = await readChartQuery(deps, tenant, query);
  const choose = (model: ProductModel) => listRequestedPoints(model, asked);
  const { items, truncated } = await originalItems(deps, asked, choose, request.signal, createBudget(hold));
  const headers: Record<string, string> = truncated ? { Truncated: "true" } : {};
  return conditionalAnswer(request, items, headers, formOfTimes(asked));
}

/** An item for each chosen data point of each device. */
export async function originalItems(
  deps: AppDeps,
  asked: ChartRequest,
  choose: (model: ProductModel) => readonly DataPoint[],
  signal: AbortSignal,
  budget: QueryBudget,
): Promise<{ readonly items: object[]; readonly truncated: boolean }> {
  const range = asked.range("real");
  const most = range.newest ?? asked.limit ?? limitDefault;
  const queries = await createSeriesQueries(deps, asked, (model) => splitPoints(choose(model), most));
  const store = deps.series.under(signal);
  const texts = queries.reduce((sum, { points }) => sum + points.filter(isText).length, 0);
  const textBytesMax = Math.floor(answerTexts.partsBytes / Math.max(1, texts));
  const size = { limit: asked.limit, limitDefault, maxPoints: asked.maxPoints, textBytesMax };
  const write = timeWriters[asked.format];
  let truncated = false;
  const items = await inParallel(queries, queriesAtOnce, async ({ device, points }) => {
    const series = points.map((point) => ({
      series: deps.refs.of(device, { field: point.field, kind: toSeriesKind(point.pointDataType) }),
      form: originalForm(point),
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
        ...showOwner(device, asked),
      };
    });
  });
  return { items: items.flat(), truncated };
}

/** Reads data points of a device together, as far as everything in progress fits an answer. */
function splitPoints(points: readonly DataPoint[], valuesEach: number): { points: readonly DataPoint[] }[] {
  const together = Math.max(1, Math.floor(answerValuesMax / queriesAtOnce / valuesEach));
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

const isText = ({ pointDataType }: DataPoint): boolean => toSeriesKind(pointDataType) === "text";
