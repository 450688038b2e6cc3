import { ApiFailure, call, type Page } from "../api.js";
import { alertMarks } from "../charts/alert-marks.js";
import { inParallel } from "../in-parallel.js";
import { fetchPlaces } from "../map/fetch-places.js";
import { shownHeaders } from "../shown.js";
import type { AlertsPanel, Series, SeriesPanel, Variable } from "./document.js";
import type { AlertRow, Asked, Item, MetricItem, PanelSource, PointFacts, RawItem } from "./source.js";
import { type Chosen, resolveTarget } from "./targets.js";

/** Devices of a chart whose alerts are marked on it: two queries each. */
const markedMax = 3;
const alertsMax = 100;
/** Devices that are asked for one by one. */
const atOnce = 6;
const wholeEarth = "-180,-90,180,90";

/** Data points by their record ids; they change seldom, and a page asks for each once. */
const facts = new Map<number, Promise<PointFacts | null>>();

function fetchFacts(id: number): Promise<PointFacts | null> {
  let found = facts.get(id);
  if (found === undefined) {
    found = call<PointFacts>("GET", `/data_points/${id}`).catch((error: unknown) => {
      facts.delete(id);
      return noneIfGone(null)(error);
    });
    facts.set(id, found);
  }
  return found;
}

/** A record that has been deleted since leaves the rest of a panel as it is. */
function noneIfGone<T>(none: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof ApiFailure && error.status === 404) return none;
    throw error;
  };
}

/** One request to the API, with the series that it answers. */
interface Question {
  readonly path: "/original_data" | "/metrics_data";
  readonly query: Readonly<Record<string, string | number | undefined>>;
  readonly series: readonly number[];
}

/** The queries of a panel: raw points of one device or group are asked for together. */
export function listDataRequests(
  panel: SeriesPanel,
  { from, to, zone, size }: Asked,
  variables: readonly Variable[],
  chosen: Chosen,
): Question[] {
  const shared = { startTime: Math.floor(from), endTime: Math.ceil(to), timeFormat: "ms", timezone: zone };
  const raw = new Map<
    string,
    { readonly of: object; readonly ids: Set<number>; readonly series: number[] }
  >();
  const questions: Question[] = [];
  for (const [i, { deviceID, dataPointIntID, metricIntID }] of panel.series.entries()) {
    const target = resolveTarget(deviceID, "device", variables, chosen);
    if (target === null) continue;
    const of = target.type === "group" ? { groupID: target.id } : { deviceID: target.id };
    if (metricIntID !== undefined) {
      const windows = { metricIntID, time_unit: panel.unit, fill: panel.fill };
      questions.push({
        path: "/metrics_data",
        query: { ...shared, ...of, ...windows, ...size },
        series: [i],
      });
    } else if (dataPointIntID !== undefined) {
      const key = JSON.stringify(of);
      const known = raw.get(key) ?? { of, ids: new Set(), series: [] };
      known.ids.add(dataPointIntID);
      known.series.push(i);
      raw.set(key, known);
    }
  }
  for (const { of, ids, series } of raw.values()) {
    const dataPointIntID = [...ids].join();
    questions.push({
      path: "/original_data",
      query: { ...shared, ...of, dataPointIntID, ...size },
      series,
    });
  }
  return questions;
}

const isItemForSeries = ({ dataPointIntID, metricIntID }: Series, item: Item): boolean =>
  "originalData" in item ? item.dataPointIntID === dataPointIntID : item.id === metricIntID;

export function apiSource(variables: readonly Variable[], chosen: Chosen): PanelSource {
  return {
    key: JSON.stringify([variables, chosen]),
    isOwn: true,
    async series(panel, asked, signal) {
      const series: Item[][] = panel.series.map(() => []);
      await Promise.all(
        listDataRequests(panel, asked, variables, chosen).map(async ({ path, query, series: wanted }) => {
          const items = await call<readonly (RawItem | MetricItem)[]>("GET", path, { query, signal }).catch(
            noneIfGone([]),
          );
          for (const i of wanted)
            series[i] = items.filter((item) => isItemForSeries(panel.series[i] as Series, item));
        }),
      );
      const points = await Promise.all(
        panel.series.map(({ dataPointIntID }) =>
          dataPointIntID === undefined ? null : fetchFacts(dataPointIntID),
        ),
      );
      return { series, points };
    },
    marks(panel, range, signal) {
      const devices = panel.series.flatMap(({ deviceID }) => {
        const target = resolveTarget(deviceID, "device", variables, chosen);
        return target?.type === "device" ? [target.id] : [];
      });
      return alertMarks([...new Set(devices)].slice(0, markedMax), range, signal);
    },
    async alerts(panel, range, signal) {
      const question = alertsQuestion(panel, range, variables, chosen);
      if (question === null) return [];
      const { path, query } = question;
      return (await call<Page<AlertRow>>("GET", path, { query, headers: shownHeaders(), signal })).items;
    },
    async places({ deviceIDs, groupID, productID }, { bbox, zoom }, signal) {
      if (deviceIDs !== undefined) {
        const named = deviceIDs.flatMap((text) => resolveTarget(text, "device", variables, chosen)?.id ?? []);
        return placesOfNamed(named, signal);
      }
      const target =
        groupID !== undefined
          ? resolveTarget(groupID, "group", variables, chosen)
          : productID !== undefined
            ? resolveTarget(productID, "product", variables, chosen)
            : undefined;
      if (target === null) return nowhere;
      const filter = target === undefined ? {} : await fetchTargetRecord(target.type, target.id, signal);
      if (filter === null) return nowhere;
      return fetchPlaces({ ...filter, bbox: bbox || wholeEarth, zoom }, signal);
    },
  };
}

/** Null: nobody is chosen whose alerts they would be. */
export function alertsQuestion(
  { filters: { state, alertSeverity, alertName, deviceID, productID } }: AlertsPanel,
  { from, to }: Pick<Asked, "from" | "to">,
  variables: readonly Variable[],
  chosen: Chosen,
) {
  const named: Record<string, string> = {};
  for (const [field, text, type] of [
    ["deviceID", deviceID, "device"],
    ["productID", productID, "product"],
  ] as const) {
    if (text === undefined) continue;
    const target = resolveTarget(text, type, variables, chosen);
    if (target === null) return null;
    named[field] = target.id;
  }
  const range = state === "history" ? { startTime: Math.floor(from), endTime: Math.ceil(to) } : {};
  const query = { ...named, ...range, alertSeverity, alertName, _limit: alertsMax };
  return { path: `/${state}_alerts`, query };
}

const nowhere = { clusters: [], total: 0, isTruncated: false };

/** The parameter of device_places that a string id means; null if there is no such record. */
async function fetchTargetRecord(
  type: string,
  id: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, number>> | null> {
  const [path, field, parameter] =
    type === "group" ? ["/groups", "groupID", "groupIntID"] : ["/products", "productID", "productIntID"];
  const { items } = await call<Page<{ readonly id: number }>>("GET", path as string, {
    query: { [field as string]: id, _limit: 1 },
    signal,
  });
  return items[0] === undefined ? null : { [parameter as string]: items[0].id };
}

interface Placed {
  readonly id: number;
  readonly deviceName: string;
  readonly deviceStatus: number;
  readonly longitude: number | null;
  readonly latitude: number | null;
}

async function placesOfNamed(ids: readonly string[], signal: AbortSignal) {
  const found = await inParallel(ids, atOnce, async (id) => {
    const query = { deviceID: id, _limit: 1 };
    return (await call<Page<Placed>>("GET", "/devices", { query, signal })).items;
  });
  const clusters = found
    .flat()
    .flatMap(({ id, deviceName, deviceStatus, longitude, latitude }) =>
      longitude === null || latitude === null
        ? []
        : [{ longitude, latitude, count: 1, deviceIntID: id, deviceName, deviceStatus, worstSeverity: null }],
    );
  return { clusters, total: clusters.length, isTruncated: false };
}
