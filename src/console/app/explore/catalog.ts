/** What can be drawn of the chosen devices: the data points and metrics of their products. */
import { call, type Page } from "../api.js";

export interface DeviceRow {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly productID: string;
}

export interface PointRow {
  readonly id: number;
  readonly dataPointID: string;
  readonly dataPointName: string;
  readonly pointDataType: number;
  readonly dataTransType: number;
  readonly unitSymbol: string | null;
  readonly lowerLimit: number | null;
  readonly upperLimit: number | null;
}

export interface MetricRow {
  readonly id: number;
  readonly metricName: string;
  readonly metricType: number;
}

interface ProductSeries {
  readonly productID: string;
  readonly points: readonly PointRow[];
  readonly metrics: readonly MetricRow[];
}

export interface Catalog {
  readonly devices: readonly DeviceRow[];
  /** Asked for, and not there. */
  readonly unknown: readonly string[];
  readonly products: readonly ProductSeries[];
}

const recordsMax = 1000;
/** Types whose values are numbers or yes and no: a line can be drawn of them. */
const drawn: ReadonlySet<number> = new Set([1, 5, 15, 16, 17, 18, 19, 21, 22, 23, 25]);
const onlyIssued = 2;
const isDrawn = ({ pointDataType, dataTransType }: PointRow): boolean =>
  drawn.has(pointDataType) && dataTransType !== onlyIssued;

export async function fetchCatalog(ids: readonly string[], signal: AbortSignal): Promise<Catalog> {
  const found = await Promise.all(ids.map((id) => findDevice(id, signal)));
  const devices = found.filter((one) => one !== null);
  const products = [...new Set(devices.map(({ productID }) => productID))];
  return {
    devices,
    unknown: ids.filter((_, i) => found[i] === null),
    products: await Promise.all(products.map((productID) => fetchProductSeries(productID, signal))),
  };
}

export async function findDevice(deviceID: string, signal: AbortSignal): Promise<DeviceRow | null> {
  const query = { deviceID, _limit: 1 };
  const devices = await call<Page<DeviceRow>>("GET", "/devices", { query, signal });
  const [device] = devices.items;
  if (device !== undefined) return device;
  const gateways = await call<Page<DeviceRow & { gatewayName: string }>>("GET", "/gateways", {
    query,
    signal,
  });
  const [gateway] = gateways.items;
  return gateway === undefined ? null : { ...gateway, deviceName: gateway.gatewayName };
}

async function fetchProductSeries(productID: string, signal: AbortSignal): Promise<ProductSeries> {
  const options = { query: { productID, _limit: recordsMax }, signal };
  const [points, metrics] = await Promise.all([
    call<Page<PointRow>>("GET", "/data_points", options),
    call<Page<MetricRow>>("GET", "/metrics", options),
  ]);
  return { productID, points: points.items.filter(isDrawn), metrics: metrics.items };
}
