/** Which of what could be drawn is drawn. */
import type { Catalog, DeviceRow, MetricRow, PointRow } from "./catalog.js";
import { type ExploreState, seriesMax } from "./state.js";

const firstPoints = 8;
const [formula, aggregate] = [1, 2];

/** One line to be: a data point or a metric of a device. */
export interface Chosen {
  readonly device: DeviceRow;
  readonly of: { readonly point: PointRow } | { readonly metric: MetricRow };
}

/** All points of the products by name, once each. */
export function listPointRows({ products }: Catalog): PointRow[] {
  const byID = new Map<string, PointRow>();
  for (const { points } of products) {
    for (const point of points) if (!byID.has(point.dataPointID)) byID.set(point.dataPointID, point);
  }
  return [...byID.values()];
}

/** Metrics that can be asked for with a window: formulas are values of single points, aggregates of windows. */
export function listMetricRows({ products }: Catalog, unit: ExploreState["unit"]): MetricRow[] {
  const type = unit === "real" ? formula : aggregate;
  return products.flatMap(({ metrics }) => metrics.filter(({ metricType }) => metricType === type));
}

/** The dataPointIDs that are on. */
export function pointsOn(catalog: Catalog, { points, metrics }: ExploreState): string[] {
  if (points !== null) return [...points];
  if (metrics.length > 0) return [];
  return listPointRows(catalog)
    .slice(0, firstPoints)
    .map(({ dataPointID }) => dataPointID);
}

export function listChosen(catalog: Catalog, state: ExploreState): Chosen[] {
  const on = new Set(pointsOn(catalog, state));
  const metrics = listMetricRows(catalog, state.unit).filter(({ id }) => state.metrics.includes(id));
  return catalog.devices
    .flatMap((device): Chosen[] => {
      const product = catalog.products.find(({ productID }) => productID === device.productID);
      if (product === undefined) return [];
      return [
        ...product.points
          .filter(({ dataPointID }) => on.has(dataPointID))
          .map((point) => ({ device, of: { point } })),
        ...metrics
          .filter((metric) => product.metrics.includes(metric))
          .map((metric) => ({ device, of: { metric } })),
      ];
    })
    .slice(0, seriesMax);
}

export const chosenKey = ({ device, of }: Chosen): string =>
  "point" in of ? `${device.deviceID}/${of.point.dataPointID}` : `${device.deviceID}//${of.metric.id}`;
