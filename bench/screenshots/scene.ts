/** A fleet worth looking at: ten products at named sites, a year of weather, alerts, commands, people, groups. */
import type { DemoClient } from "../../src/demo/client.js";
import { fleetDashboard, makeDashboard, weatherDashboard } from "../../src/demo/dashboards.js";
import { publishYear, settled } from "../../src/demo/edge-node.js";
import { type FleetDevice, type FleetProduct, makeDevices, makeProducts } from "../../src/demo/fleet.js";
import { importReadings, importWeather, sendReadings } from "../../src/demo/history.js";
import { inLanes } from "../../src/demo/lanes.js";
import { mast, productKinds, pump } from "../../src/demo/product-kinds.js";
import { connectDevice, type SimulatedDevice } from "../../src/demo/simulated-device.js";
import { createStation } from "../../src/demo/station.js";
import { readYear } from "../../src/demo/weather.js";

/** Record ids of what has a page of its own besides. */
interface Others {
  readonly gateway: number;
  readonly stream: number;
  readonly group: number;
  readonly policy: number;
  readonly cert: number;
  readonly contactPoint: number;
}

export interface Scene {
  /** By the prefix of their product. */
  readonly devices: ReadonlyMap<string, FleetDevice>;
  readonly productIntID: number;
  readonly dashboards: { readonly weather: number; readonly fleet: number };
  readonly others: Others;
  close(): Promise<void>;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** The shares of the devices that stay connected, and that were connected at some time. */
const [connectedPart, seenPart] = [0.6, 0.9];
/** From 0 to 1, the same for devices of every product. */
const placeOf = (n: number): number => (Math.floor(n / productKinds.length) * 0.07) % 1;
const staysConnected = ({ n }: FleetDevice): boolean => placeOf(n) < connectedPart;
const sendEveryMs = 5_000;
const connectingAtOnce = 32;
const mastsWithAYear = 12;

export async function makeScene(
  client: DemoClient,
  mqtt: string,
  count: number,
  say: (text: string) => void,
): Promise<Scene> {
  say(`${count} devices of ten products`);
  const products = await makeProducts(client, productKinds);
  const devices = await makeDevices(client, products, count);
  const { time: now } = await client.get<{ time: number }>("/api/v1/time");
  say("what they have measured");
  await importReadings(client, products, devices, { from: now - day, to: now, everyMs: 20 * minute });
  const masts = devices.filter(({ prefix }) => prefix === mast.prefix).slice(0, mastsWithAYear);
  await importWeather(client, masts, readYear(), now);
  const dashboards = await makeDashboards(client, mqtt, products, devices);
  const others = await makeOthers(client, products, devices);
  say("they connect");
  const connected = await connectAll(mqtt, devices);
  const { time: then } = await client.get<{ time: number }>("/api/v1/time");
  await sendReadings(connected.slice(0, 60), { from: now - 3 * hour, to: then, everyMs: minute });
  const stop = keepSending(connected);
  await sendStrange(mqtt, devices);
  await command(client, devices);
  await settled(client);
  const firsts = productKinds.map(({ prefix }) => [prefix, devices.find((one) => one.prefix === prefix)]);
  const { items } = await client.get<{ items: { id: number }[] }>(
    `/api/v1/products?productID=${products[1]?.productID}`,
  );
  return {
    devices: new Map(firsts.filter((one): one is [string, FleetDevice] => one[1] !== undefined)),
    productIntID: items[0]?.id ?? 0,
    dashboards,
    others,
    close: async () => {
      stop();
      await Promise.all(connected.map((one) => one.close()));
    },
  };
}

async function makeDashboards(
  client: DemoClient,
  mqtt: string,
  products: readonly FleetProduct[],
  devices: readonly FleetDevice[],
): Promise<Scene["dashboards"]> {
  const station = await createStation(client);
  const staying = devices.filter(staysConnected);
  await publishYear(mqtt, station, readYear(), () => undefined);
  await settled(client);
  return {
    weather: await makeDashboard(client, "Seattle, a year of weather", weatherDashboard(station)),
    fleet: await makeDashboard(client, "Masts, stores and pumps", fleetDashboard(products, staying)),
  };
}

/** Groups with members, people, a policy, a certificate, receivers of alerts, a gateway, a stream, tenants. */
async function makeOthers(
  client: DemoClient,
  products: readonly FleetProduct[],
  devices: readonly FleetDevice[],
): Promise<Others> {
  const groups: number[] = [];
  for (const [i, name] of ["Cold chain north", "Water works", "Roofs of the old town"].entries()) {
    const { kind, productID } = products[i + 1] as FleetProduct;
    const group = await client.post<{ id: number }>("/api/v1/groups", { groupName: name, productID });
    const members = devices.filter(({ prefix }) => prefix === kind.prefix).slice(0, 60);
    await client.post(`/api/v1/groups/${group.id}/devices`, { ids: members.map(({ id }) => id) });
    groups.push(group.id);
  }
  for (const [username, role] of [
    ["zhang.wei", "operator"],
    ["m.keller", "viewer"],
  ]) {
    await client.post("/api/v1/users", { username, role, password: "a-long-password-1" });
  }
  for (const [tenantName, username] of [
    ["Harbour cold stores", "h.olsen"],
    ["Vineyards of the south", "c.moreau"],
  ]) {
    await client.post("/api/v1/tenants", { tenantName, username });
  }
  const made = async (path: string, body: object): Promise<number> =>
    (await client.post<{ id: number }>(`/api/v1${path}`, body)).id;
  return {
    group: groups[0] ?? 0,
    gateway: await makeGateway(client, products[1] as FleetProduct, devices),
    stream: await makeStream(client, products[1] as FleetProduct),
    policy: await made("/policies", { name: "Own topics only", topic: "up/%d/#", access: 0, allow: 1 }),
    cert: await made("/certs", { name: "Site gateway", enable: 1 }),
    contactPoint: await made("/contact_points", {
      ...{ type: "webhook", name: "On duty", settings: { url: "https://duty.example/alerts" } },
    }),
  };
}

const carriedByGateway = 12;

async function makeGateway(
  client: DemoClient,
  { kind: { prefix }, productID }: FleetProduct,
  devices: readonly FleetDevice[],
): Promise<number> {
  const { id } = await client.post<{ id: number }>("/api/v1/gateways", {
    ...{ gatewayName: "Store 4, plant room", productID, gatewayProtocol: 1, upLinkNetwork: 4 },
  });
  const body = JSON.stringify({ upLinkSystem: 2, gateway: id });
  for (const device of devices.filter((one) => one.prefix === prefix).slice(0, carriedByGateway))
    await client.send("PUT", `/api/v1/devices/${device.id}`, { "Content-Type": "application/json" }, body);
  return id;
}

async function makeStream(client: DemoClient, { productID, points }: FleetProduct): Promise<number> {
  const { id } = await client.post<{ id: number }>("/api/v1/data_streams", {
    ...{ productID, streamName: "Compact readings", topic: "compact", streamType: 1, streamDataType: 2 },
    dataPoints: [...points.values()],
  });
  return id;
}

async function connectAll(mqtt: string, devices: readonly FleetDevice[]): Promise<SimulatedDevice[]> {
  const connected: SimulatedDevice[] = [];
  const seen = devices.filter(({ n }) => placeOf(n) < seenPart);
  await inLanes(seen, connectingAtOnce, async (device) => {
    const one = await connectDevice(mqtt, device);
    await one.send();
    if (staysConnected(device)) connected.push(one);
    else await one.close();
  });
  return connected;
}

/** Each in its own moment of a round, as devices do. */
function keepSending(devices: readonly SimulatedDevice[]): () => void {
  const parts = 25;
  let part = 0;
  const timer = setInterval(() => {
    part = (part + 1) % parts;
    for (let i = part; i < devices.length; i += parts) devices[i]?.send().catch(() => undefined);
  }, sendEveryMs / parts);
  return () => clearInterval(timer);
}

/** What no data point takes: a key that nobody knows, text where a number belongs, and markup. */
async function sendStrange(mqtt: string, devices: readonly FleetDevice[]): Promise<void> {
  const device = devices.find(({ prefix }) => prefix === pump.prefix);
  if (device === undefined) return;
  const { connectAsync } = await import("mqtt");
  const { username, token: password } = device;
  const client = await connectAsync(mqtt, { username, password, clientId: "strange", reconnectPeriod: 0 });
  for (const payload of ['{"flwo": 41.2}', '{"flow": "high"}', '{"flow": ', "<img src=x onerror=alert(1)>"]) {
    await client.publishAsync("telemetry", payload, { qos: 1 });
  }
  await client.endAsync();
}

async function command(client: DemoClient, devices: readonly FleetDevice[]): Promise<void> {
  const pumps = devices.filter(({ prefix }) => prefix === pump.prefix).slice(0, 30);
  for (const [i, { deviceID }] of pumps.entries()) {
    const payload = JSON.stringify({ target: 36 + 2 * (i % 8) });
    await client.post("/api/v1/device_publish", { deviceID, payload });
  }
  const [first] = pumps;
  if (first === undefined) return;
  await client.post("/api/v1/device_schedule_publish", {
    deviceID: first.deviceID,
    payload: '{"target": 24}',
    scheduleName: "Less at night",
    scheduleType: 1,
    crontab: "0 22 * * *",
  });
}
