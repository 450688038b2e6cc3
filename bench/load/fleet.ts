import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Api, inParallel } from "./api-client.js";
import type { Credential } from "./packets.js";

export interface DeviceRecord {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceUsername: string;
  readonly token: string;
}

export interface FleetOfDevices {
  readonly productID: string;
  readonly productIntID: number;
  /** Record ids of the data points, in the order asked for. */
  readonly dataPointIntIDs: readonly number[];
  /** Record ids of the mean of each data point, in the same order. */
  readonly metricIntIDs: readonly number[];
  readonly devices: readonly DeviceRecord[];
}

export const points = ["temp", "hum", "volt"] as const;

/** Makes a product with numeric data points, a mean of each, and `count` devices through the HTTP API. */
export async function provision(api: Api, count: number): Promise<FleetOfDevices> {
  const product = await api.post<{ id: number; productID: string }>("/api/v1/products", {
    productName: `bench ${Date.now()}`,
    cloudProtocol: 1,
  });
  const dataPointIntIDs: number[] = [];
  const metricIntIDs: number[] = [];
  for (const point of points) {
    const { id } = await api.post<{ id: number }>("/api/v1/data_points", {
      dataPointName: point,
      dataPointID: point,
      productIntID: product.id,
      pointDataType: 1,
      dataTransType: 1,
    });
    dataPointIntIDs.push(id);
    const metric = { metricName: `mean ${point}`, metricType: 2, dataPointIntID: id, aggregateType: 3 };
    metricIntIDs.push((await api.post<{ id: number }>("/api/v1/metrics", metric)).id);
  }
  const devices = await addDevices(api, product.productID, count);
  return { productID: product.productID, productIntID: product.id, dataPointIntIDs, metricIntIDs, devices };
}

async function addDevices(api: Api, productID: string, count: number): Promise<DeviceRecord[]> {
  const devices = new Array<DeviceRecord>(count);
  await inParallel(count, async (index) => {
    const name = `bench-${productID}-${index}`;
    devices[index] = await api.post<DeviceRecord>("/api/v1/devices", {
      productID,
      deviceName: name,
      deviceID: name,
      deviceType: 1,
      upLinkSystem: 1,
      cloudProtocol: 1,
      authType: 1,
    });
  });
  return devices;
}

/** The topic that the generator publishes to stands among them. */
const rules = [
  { topic: "telemetry", access: 0, allow: 1 },
  { topic: "devices/%d/+/status", access: 2, allow: 1 },
  { topic: "config/#", access: 1, allow: 1 },
  { topic: "telemetry/raw/#", access: 0, allow: 0 },
  { topic: "+/secret", access: 2, allow: 0 },
] as const;

/** Binds every device to five policies. */
export async function bindRules(api: Api, devices: readonly DeviceRecord[]): Promise<void> {
  const devicesIntID = devices.map(({ id }) => id);
  for (const [i, rule] of rules.entries()) {
    const policy = await api.post<{ id: number }>("/api/v1/policies", { name: `bench ${i}`, ...rule });
    for (let at = 0; at < devicesIntID.length; at += devicesPerCall) {
      const some = { devicesIntID: devicesIntID.slice(at, at + devicesPerCall) };
      const { status, text } = await api.call("POST", `/api/v1/policies/${policy.id}/devices`, some);
      if (status !== 201) throw new Error(`cannot bind the policy: ${status} ${text}`);
    }
  }
}

const devicesPerCall = 1000;

export function credentialOf(device: DeviceRecord): Credential {
  return { username: device.deviceUsername, password: device.token };
}

/** Writes the devices' credentials where the generator can read them; returns the file. */
export async function writeCredentials(dir: string, devices: readonly DeviceRecord[]): Promise<string> {
  const file = join(await mkdtemp(join(dir, "tidemark-bench-")), "credentials.json");
  await writeFile(file, JSON.stringify(devices.map(credentialOf)), { mode: 0o600 });
  return file;
}
