/** A fleet as the service knows it: products with their points and rules, devices at their sites. */
import type { DemoClient } from "./client.js";
import { inLanes } from "./lanes.js";
import type { ProductKind } from "./product-kinds.js";
import { createSite } from "./sites.js";
import type { WaveReading } from "./waves.js";

export interface FleetProduct {
  readonly kind: ProductKind;
  readonly productID: string;
  /** Record ids by dataPointID. */
  readonly points: ReadonlyMap<string, number>;
  /** Record ids of means by dataPointID. */
  readonly means: ReadonlyMap<string, number>;
}

export interface FleetDevice {
  readonly prefix: string;
  /** Its number, which its readings are of. */
  readonly n: number;
  readonly id: number;
  readonly deviceID: string;
  readonly username: string;
  readonly token: string;
}

const [numberType, booleanType] = [1, 5];
const [reportOnly, bothWays] = [1, 3];
const mqttProtocol = 1;
const aggregates = [
  ["mean", 3],
  ["highest", 1],
  ["lowest", 2],
] as const;
const lanes = 8;

/** `suffix` distinguishes the products of one run from those of another. */
export async function makeProducts(
  client: DemoClient,
  kinds: readonly ProductKind[],
  suffix = "",
): Promise<FleetProduct[]> {
  const made: FleetProduct[] = [];
  for (const kind of kinds) made.push(await makeProduct(client, kind, suffix));
  return made;
}

async function makeProduct(client: DemoClient, kind: ProductKind, suffix: string): Promise<FleetProduct> {
  const { productID } = await client.post<{ productID: string }>("/api/v1/products", {
    productName: suffix === "" ? kind.name : `${kind.name} ${suffix}`,
    description: kind.description,
    cloudProtocol: mqttProtocol,
  });
  const points = await makePoints(client, kind, productID);
  if (kind.rule !== undefined) {
    const { of, ...rule } = kind.rule;
    await client.post("/api/v1/alert_rules", { ...rule, dataPointIntID: points.get(of) });
  }
  return { kind, productID, points, means: await makeMetrics(client, kind, points) };
}

async function makePoints(
  client: DemoClient,
  kind: ProductKind,
  productID: string,
): Promise<ReadonlyMap<string, number>> {
  const points = new Map<string, number>();
  for (const { read, isSet, ...point } of kind.points) {
    const { id } = await client.post<{ id: number }>("/api/v1/data_points", {
      ...point,
      productID,
      pointDataType: isBoolean(read) ? booleanType : numberType,
      dataTransType: isSet ? bothWays : reportOnly,
    });
    points.set(point.dataPointID, id);
  }
  return points;
}

/** What windows show of each number; answers the means. */
async function makeMetrics(
  client: DemoClient,
  kind: ProductKind,
  points: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const means = new Map<string, number>();
  for (const { dataPointID, dataPointName, read } of kind.points) {
    if (isBoolean(read)) continue;
    for (const [word, aggregateType] of aggregates) {
      const { id } = await client.post<{ id: number }>("/api/v1/metrics", {
        metricName: `${dataPointName}, ${word}`,
        dataPointIntID: points.get(dataPointID),
        aggregateType,
      });
      if (word === "mean") means.set(dataPointID, id);
    }
  }
  return means;
}

const isBoolean = (read: WaveReading): boolean => typeof read(0, 0, new Map()) === "boolean";

/** Makes `count` devices of the products in turn, numbered from 0, in the order of their numbers. */
export async function makeDevices(
  client: DemoClient,
  products: readonly FleetProduct[],
  count: number,
  suffix = "",
): Promise<FleetDevice[]> {
  const made: FleetDevice[] = [];
  await inLanes(
    Array.from({ length: count }, (_, n) => n),
    lanes,
    async (n) => {
      made[n] = await makeDevice(client, products[n % products.length] as FleetProduct, n, suffix);
    },
  );
  return made;
}

async function makeDevice(
  client: DemoClient,
  { kind, productID }: FleetProduct,
  n: number,
  suffix: string,
): Promise<FleetDevice> {
  const site = createSite(n);
  const number = String(n + 1).padStart(3, "0");
  const { id, deviceID, deviceUsername, token } = await client.post<{
    id: number;
    deviceID: string;
    deviceUsername: string;
    token: string;
  }>("/api/v1/devices", {
    deviceName: `${site.name}, ${kind.name.toLowerCase()} ${number}`,
    deviceID: `${kind.prefix}-${number}${suffix === "" ? "" : `-${suffix}`}`,
    productID,
    cloudProtocol: mqttProtocol,
    deviceType: 1,
    authType: 1,
    upLinkSystem: 1,
    latitude: site.latitude,
    longitude: site.longitude,
    location: { address: site.name },
    manufacturer: "Lake Instruments",
    serialNumber: `LI${String(40_000 + n)}`,
    softVersion: `2.${n % 5}.${n % 3}`,
  });
  return { prefix: kind.prefix, n, id, deviceID, username: deviceUsername, token };
}
