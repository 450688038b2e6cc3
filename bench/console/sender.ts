/** A device with ten data points that counts: each message has the same number in all of them. */
import { connectAsync, type MqttClient } from "mqtt";
import type { Tidemark } from "../subjects/tidemark.js";

export interface CountingDevice {
  readonly id: number;
  readonly deviceID: string;
  readonly username: string;
  readonly password: string;
}

interface Sender {
  /** Sends one number; when its PUBACK was there, in milliseconds since 1970. */
  send(number: number): Promise<number>;
  /** So many messages a second; the last number that was acknowledged. */
  keepSending(from: number, ratePerSecond: number, seconds: number): Promise<number>;
  close(): Promise<void>;
}

export const pointsEach = 10;
const names = Array.from({ length: pointsEach }, (_, i) => `count${i}`);

export async function makeCounting({ api }: Tidemark, count: number): Promise<CountingDevice[]> {
  const product = await api().post<{ productID: string }>("/api/v1/products", {
    productName: `counting ${Date.now()}`,
    cloudProtocol: 1,
  });
  for (const name of names) {
    const point = { dataPointName: name, dataPointID: name, pointDataType: 1, dataTransType: 1 };
    await api().post("/api/v1/data_points", { ...point, productID: product.productID });
  }
  const devices: CountingDevice[] = [];
  for (let i = 0; i < count; i++) {
    const deviceID = `counting-${product.productID}-${i}`;
    const { id, deviceUsername, token } = await api().post<{
      id: number;
      deviceUsername: string;
      token: string;
    }>("/api/v1/devices", {
      productID: product.productID,
      deviceName: deviceID,
      deviceID,
      deviceType: 1,
      upLinkSystem: 1,
      cloudProtocol: 1,
      authType: 1,
    });
    devices.push({ id, deviceID, username: deviceUsername, password: token });
  }
  return devices;
}

export async function connectSender(tidemark: Tidemark, device: CountingDevice): Promise<Sender> {
  const { username, password } = device;
  const url = `mqtt://127.0.0.1:${tidemark.mqttPort()}`;
  const client = await connectAsync(url, { username, password, reconnectPeriod: 0 });
  // The service is killed under it on purpose.
  client.on("error", () => undefined);
  return {
    send: async (number) => {
      await publish(client, number);
      return performance.timeOrigin + performance.now();
    },
    keepSending: (from, ratePerSecond, seconds) => keepSending(client, from, ratePerSecond, seconds),
    close: () => client.endAsync(true),
  };
}

async function publish(client: MqttClient, number: number): Promise<void> {
  const values = Object.fromEntries(names.map((name) => [name, number]));
  await client.publishAsync("counts", JSON.stringify(values), { qos: 1 });
}

/** Keeps to the rate over all, however late single timers are. */
async function keepSending(
  client: MqttClient,
  from: number,
  ratePerSecond: number,
  seconds: number,
): Promise<number> {
  const started = performance.now();
  const pending: Promise<void>[] = [];
  const total = Math.round(ratePerSecond * seconds);
  while (pending.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1000) * ratePerSecond) + 1);
    while (pending.length < due) pending.push(publish(client, from + pending.length));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(pending);
  return from + total - 1;
}
