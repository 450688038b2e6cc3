import { until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Given, provide, type Scope, type Target } from "./line.js";

/** What the lines are about, made through the interface alone, in this order. */
const records: readonly Given[] = [
  make("product", "/products", { productName: "greenhouse", cloudProtocol: 1, description: "glass" }),
  make("modbus", "/products", { productName: "meters", cloudProtocol: 7, description: "bus" }),
  make("coap", "/products", { productName: "coap", cloudProtocol: 2, description: "" }),
  make("lwm2m", "/products", { productName: "lwm2m", cloudProtocol: 3, description: "" }),
  make("lora", "/products", { productName: "lora", cloudProtocol: 4, description: "" }),
  make("point", "/data_points", point("{product.id}", "t", { unitName: "degree", unitSymbol: "°C" })),
  make("humidity", "/data_points", point("{product.id}", "h")),
  make("gateway", "/gateways", {
    gatewayName: "north",
    productID: "{product.productID}",
    gatewayProtocol: 1,
    upLinkNetwork: 4,
    upLinkProtocol: 1,
    mac: "00:11:22:33:44:55",
  }),
  make("device", "/devices", device("bench-1", { location: "row 1", scopes: [] })),
  make("child", "/devices", device("child-1", { upLinkSystem: 3, parentDevice: "{device.id}" })),
  make("under", "/devices", device("under-1", { upLinkSystem: 2, gateway: "{gateway.id}" })),
  make("lonely", "/devices", device("lonely-1")),
  make("stream", "/data_streams", {
    productIntID: "{product.id}",
    streamName: "climate",
    streamType: 1,
    streamDataType: 1,
    topic: "climate",
    dataPoints: ["{point.id}", "{humidity.id}"],
  }),
  make("formula", "/metrics", {
    metricName: "fahrenheit",
    dataPointIntID: "{point.id}",
    expressions: "dataPoint * 9 / 5 + 32",
  }),
  make("aggregate", "/metrics", { metricName: "mean", dataPointIntID: "{point.id}", aggregateType: 3 }),
  make("resource", "/product_resources", {
    codeValue: "serialNumber",
    dataPointIntID: "{humidity.id}",
    productIntID: "{product.id}",
    productItemIntID: 0,
  }),
  make("template", "/app_templates", {
    templateName: "lamp",
    templateType: 1,
    productIntID: "{product.id}",
    dataPointIntID: "{point.id}",
    dataStreamIntID: "{stream.id}",
    places: [1, 2],
  }),
  make("group", "/groups", { productID: "{product.productID}", groupName: "east", description: "wing" }),
  make("members", "/groups/{group.id}/devices", { ids: ["{device.id}"] }),
  make("policy", "/policies", { name: "up", topic: "#", access: 2, allow: 1, description: "all" }),
  make("bound", "/policies/{policy.id}/devices", { devicesIntID: ["{device.id}"] }),
  make("spare", "/policies", { name: "spare", topic: "#", access: 0, allow: 1 }),
  make("cert", "/certs", { name: "field", enable: 1 }),
  make("subscription", "/devices/{device.id}/subscriptions", { topic: "orders" }),
  make("gatewayCommand", "/device_publish", {
    deviceID: "{gateway.deviceID}",
    payload: '{"channel":[],"func":1,"kbid":"k","message":[],"object":[]}',
    topic: "inbox",
  }),
  make("command", "/device_publish", { deviceID: "bench-1", payload: "on", topic: "inbox" }),
  make("groupCommand", "/group_publish", { groupID: "{group.groupID}", payload: "on" }),
];

function make(as: string, path: string, body: object): Given {
  return { as, call: `POST ${path}`, body };
}

function point(productIntID: string, dataPointID: string, fields: object = {}): object {
  return {
    productIntID,
    dataPointID,
    dataPointName: `point ${dataPointID}`,
    pointDataType: 1,
    dataTransType: 1,
    ...fields,
  };
}

/** A create body with what rules 1 to 6 ask of an MQTT device; `upLinkSystem` is 1 by default. */
export function device(deviceID: string, fields: object = {}): object {
  return {
    productID: "{product.productID}",
    cloudProtocol: 1,
    deviceName: `name of ${deviceID}`,
    deviceID,
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
    ...fields,
  };
}

/** Makes what can be made and prints what cannot; the lines that need it fail by themselves. */
export async function openFixture(target: Target): Promise<Scope> {
  const scope: Scope = new Map();
  const note = (error: unknown) => console.log(`fixture: ${error instanceof Error ? error.message : error}`);
  for (const one of records) await provide(target, one, scope).catch(note);
  await report(target, scope).catch(note);
  return scope;
}

/** Devices and the gateway speak, so that there are events, points and connections in the logs. */
async function report(target: Target, scope: Scope): Promise<void> {
  const talkers = ["device", "gateway"].map((name) => scope.get(name) as Rec | undefined);
  for (const one of talkers) if (one !== undefined) await target.publish(one, { t: 20 }, { t: 22, h: 50 });
  for (const one of talkers) {
    if (one === undefined) continue;
    const logged = async () => {
      const { page } = await target.call("GET", `/api/v1/devices/${one.id}/connect_logs`);
      return page.items?.length >= 1;
    };
    await until(logged, { what: "the connection logs", timeoutMs: 3000 });
  }
}
