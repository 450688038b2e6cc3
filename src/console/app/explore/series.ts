/**
 * The values of what is chosen. Single points come thinned to what a screen shows, peaks kept; windows of a data point
 * are a metric that is not saved, three times for a mean: it lies in the band of its window's extremes.
 */
import { call, type Query } from "../api.js";
import { drawnValues } from "../charts/drawn-values.js";
import { inParallel } from "../in-parallel.js";
import { type Chosen, chosenKey } from "./chosen.js";
import { mean, type Unit } from "./state.js";

export interface Values {
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  readonly isStepped?: boolean;
}

export interface Asked {
  readonly unit: Unit;
  readonly aggregate: number;
  readonly zone: string;
  readonly from: number;
  readonly to: number;
  readonly maxPoints: number;
}

interface Data {
  readonly time: readonly number[];
  readonly value: readonly (number | boolean | string | null)[];
}

interface Item {
  readonly dataPointIntID: number;
  readonly deviceID?: string;
  readonly originalData?: Data;
  readonly metricData?: Data;
}

const [max, min] = [1, 2];
const atOnce = 4;
const idsMax = 100;

/** By the key of each that is chosen. */
export async function fetchValues(
  chosen: readonly Chosen[],
  asked: Asked,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Values>> {
  const points = chosen.filter(({ of }) => "point" in of);
  const answers = await all([
    ...(points.length === 0 ? [] : [() => pointValues(points, asked, signal)]),
    ...groupChosen(chosen.filter(({ of }) => "metric" in of)).map(
      (group) => () => metricValues(group, asked, signal),
    ),
  ]);
  return new Map(answers.flat());
}

type Found = readonly (readonly [string, Values])[];

async function pointValues(chosen: readonly Chosen[], asked: Asked, signal: AbortSignal): Promise<Found> {
  if (asked.unit !== "real")
    return (await all(groupChosen(chosen).map((group) => () => windowValues(group, asked, signal)))).flat();
  const items = await answerTo(pointsRequest(chosen, asked), signal);
  return chosen.map((one) => [
    chosenKey(one),
    valuesOfItem(
      items.find(
        (item) => "point" in one.of && item.dataPointIntID === one.of.point.id && isItemForChosen(item, one),
      ),
    ),
  ]);
}

async function windowValues(group: readonly Chosen[], asked: Asked, signal: AbortSignal): Promise<Found> {
  const [values, lows, highs] = await all(
    windowRequests(group, asked).map((request) => () => answerTo(request, signal)),
  );
  const findItem = (items: readonly Item[] | undefined, one: Chosen): Item | undefined =>
    items?.find((item) => isItemForChosen(item, one));
  return group.map((one) => [
    chosenKey(one),
    {
      ...valuesOfItem(findItem(values, one)),
      ...(lows === undefined ? {} : { low: valuesOfItem(findItem(lows, one)).values }),
      ...(highs === undefined ? {} : { high: valuesOfItem(findItem(highs, one)).values }),
    },
  ]);
}

async function metricValues(group: readonly Chosen[], asked: Asked, signal: AbortSignal): Promise<Found> {
  const items = (await all(metricRequests(group, asked).map((one) => () => answerTo(one, signal)))).flat();
  return group.map((one) => [chosenKey(one), valuesOfItem(items.find((item) => isItemForChosen(item, one)))]);
}

/** A request to the API, to be sent here or copied. */
interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
}

const answerTo = ({ method, path, query, body }: Request, signal: AbortSignal): Promise<readonly Item[]> =>
  call(method, path, {
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body }),
    signal,
  });

/** All that is asked for what is shown. */
export function listRequests(chosen: readonly Chosen[], asked: Asked): readonly Request[] {
  const points = chosen.filter(({ of }) => "point" in of);
  const metrics = groupChosen(chosen.filter(({ of }) => "metric" in of));
  return [
    ...(points.length === 0
      ? []
      : asked.unit === "real"
        ? [pointsRequest(points, asked)]
        : groupChosen(points).flatMap((group) => windowRequests(group, asked))),
    ...metrics.flatMap((group) => metricRequests(group, asked)),
  ];
}

const pointsRequest = (chosen: readonly Chosen[], asked: Asked): Request => ({
  method: "GET",
  path: "/original_data",
  query: { ...formatRange(asked), ...pointsQuery(chosen), maxPoints: asked.maxPoints },
});

/** The value, and of a mean the lowest and the highest too. */
function windowRequests(group: readonly Chosen[], asked: Asked): Request[] {
  const { of } = group[0] as Chosen;
  if (!("point" in of)) return [];
  const types = asked.aggregate === mean ? [mean, min, max] : [asked.aggregate];
  return types.map((aggregateType) => ({
    method: "POST",
    path: "/metrics_data/preview",
    body: {
      ...formatRange(asked),
      ...formatWindows(asked),
      dataPointIntID: of.point.id,
      metricType: 2,
      aggregateType,
      deviceID: formatDevices(group),
    },
  }));
}

function metricRequests(group: readonly Chosen[], asked: Asked): Request[] {
  const { of } = group[0] as Chosen;
  if (!("metric" in of)) return [];
  const query = {
    ...formatRange(asked),
    ...formatWindows(asked),
    metricIntID: of.metric.id,
    deviceID: formatDevices(group),
    ...(asked.unit === "real" ? { maxPoints: asked.maxPoints } : {}),
  };
  return [{ method: "GET", path: "/metrics_data", query }];
}

const formatRange = ({ from, to }: Asked) => ({
  startTime: Math.floor(from),
  endTime: Math.ceil(to),
  timeFormat: "ms",
});
/** Which points of which devices; those beyond a hundred are asked for with all others. */
export function pointsQuery(chosen: readonly Chosen[]) {
  const ids = [...new Set(chosen.flatMap(({ of }) => ("point" in of ? [of.point.id] : [])))];
  return {
    deviceID: formatDevices(chosen),
    ...(ids.length > idsMax ? {} : { dataPointIntID: ids.join() }),
  };
}
const formatWindows = ({ unit, zone }: Asked) => ({ time_unit: unit, timezone: zone });
const formatDevices = (chosen: readonly Chosen[]): string =>
  [...new Set(chosen.map(({ device }) => device.deviceID))].join();
/** An answer about one device does not name it. */
const isItemForChosen = (item: Item, { device }: Chosen): boolean =>
  item.deviceID === undefined || item.deviceID === device.deviceID;

function valuesOfItem(item: Item | undefined): Values {
  const { time = [], value = [] } = item?.originalData ?? item?.metricData ?? {};
  return { times: time, ...drawnValues(value) };
}

/** The same data point or metric, of several devices. */
function groupChosen(chosen: readonly Chosen[]): Chosen[][] {
  const groups = new Map<string, Chosen[]>();
  for (const one of chosen) {
    const key = "point" in one.of ? `p${one.of.point.id}` : `m${one.of.metric.id}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

const all = <T>(asks: readonly (() => Promise<T>)[]): Promise<T[]> =>
  inParallel(asks, atOnce, (ask) => ask());
