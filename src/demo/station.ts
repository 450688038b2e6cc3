import { randomBytes } from "node:crypto";
import type { DemoClient } from "./client.js";

/** A weather station as the service knows it. */
export interface Station {
  readonly productID: string;
  readonly deviceID: string;
  readonly username: string;
  readonly token: string;
  /** Record ids by metric name. */
  readonly metrics: ReadonlyMap<string, number>;
}

const numberType = 1;
const reportOnly = 1;
const mqttProtocol = 1;
const byToken = 1;
const formula = 1;
const ofWindows = 2;
const aggregate = { max: 1, min: 2, mean: 3, sum: 4, count: 8 } as const;
const ofFormula = 1;

const points = [
  { dataPointID: "temperature", dataPointName: "Temperature", unitSymbol: "°C" },
  { dataPointID: "pressure", dataPointName: "Air pressure", unitSymbol: "hPa" },
  { dataPointID: "wind", dataPointName: "Wind speed", unitSymbol: "m/s" },
] as const;

const fahrenheit = "dataPoint * 9 / 5 + 32";

/** Cold enough to check the pipes, with little wind to stir the air. */
export const coldAndStill = { below: 5, windBelow: 4 } as const;

const rule = {
  alertName: "cold and still",
  alertSeverity: 3,
  condition: `dataPoint < ${coldAndStill.below} and wind < ${coldAndStill.windBelow}`,
};

/** In the order of their columns in the demo's tables. */
const metrics = [
  { of: "temperature", metricName: "°F", metricType: formula, expressions: fahrenheit },
  {
    of: "temperature",
    metricName: "air g/m³",
    metricType: formula,
    expressions: "100000 * pressure / (287.05 * (dataPoint + 273.15))",
  },
  { of: "temperature", metricName: "mean °C", aggregateType: aggregate.mean },
  {
    of: "temperature",
    metricName: "mean °F",
    metricType: ofWindows,
    aggregateType: aggregate.mean,
    aggregateData: ofFormula,
    expressions: fahrenheit,
  },
  { of: "temperature", metricName: "min °C", aggregateType: aggregate.min },
  { of: "temperature", metricName: "max °C", aggregateType: aggregate.max },
  {
    of: "temperature",
    metricName: "heating °C·d",
    metricType: ofWindows,
    aggregateType: aggregate.sum,
    aggregateData: ofFormula,
    expressions: "max(18 - dataPoint, 0) / 24",
  },
  { of: "wind", metricName: "max wind m/s", aggregateType: aggregate.max },
  { of: "temperature", metricName: "hours", aggregateType: aggregate.count },
] as const;

/** Makes a product, its data points, metrics and an alert rule, and one device of it. Names differ from run to run. */
export async function createStation(client: DemoClient): Promise<Station> {
  const suffix = randomBytes(3).toString("hex");
  const product = await client.post<{ id: number; productID: string }>("/api/v1/products", {
    productName: `Weather station ${suffix}`,
    cloudProtocol: mqttProtocol,
  });
  const pointIDs = new Map<string, number>();
  for (const point of points) {
    const made = await client.post<{ id: number }>("/api/v1/data_points", {
      ...point,
      productID: product.productID,
      pointDataType: numberType,
      dataTransType: reportOnly,
    });
    pointIDs.set(point.dataPointID, made.id);
  }
  const metricIDs = new Map<string, number>();
  for (const { of, ...metric } of metrics) {
    const body = { ...metric, dataPointIntID: pointIDs.get(of) };
    metricIDs.set(metric.metricName, (await client.post<{ id: number }>("/api/v1/metrics", body)).id);
  }
  await client.post("/api/v1/alert_rules", { ...rule, dataPointIntID: pointIDs.get("temperature") });
  const device = await client.post<{ deviceID: string; deviceUsername: string; token: string }>(
    "/api/v1/devices",
    {
      deviceName: "Seattle",
      deviceType: 1,
      deviceID: `seattle-${suffix}`,
      productID: product.productID,
      cloudProtocol: mqttProtocol,
      authType: byToken,
      upLinkSystem: 1,
    },
  );
  const { deviceID, deviceUsername: username, token } = device;
  return { productID: product.productID, deviceID, username, token, metrics: metricIDs };
}
