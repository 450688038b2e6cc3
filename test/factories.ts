/** Records with sensible defaults, each with names that no other has. */
import type { Rec, World } from "./world.js";

type Fields = Readonly<Record<string, unknown>>;

let made = 0;

export function unique(word: string): string {
  return `${word}-${++made}`;
}

export const mqtt = 1;
export const modbus = 7;

export const productBody = (fields: Fields = {}) => ({
  productName: unique("Product"),
  cloudProtocol: mqtt,
  ...fields,
});

export const dataPointBody = (product: Rec, fields: Fields = {}) => ({
  dataPointName: unique("Point"),
  dataPointID: unique("point"),
  productIntID: product.id,
  pointDataType: 1,
  dataTransType: 1,
  ...fields,
});

export const streamBody = (product: Rec, fields: Fields = {}) => ({
  productIntID: product.id,
  streamName: unique("Stream"),
  streamType: 1,
  streamDataType: 1,
  topic: unique("topic"),
  ...fields,
});

export const deviceBody = (product: Rec, fields: Fields = {}) => ({
  productID: product.productID,
  cloudProtocol: product.cloudProtocol,
  deviceName: unique("Device"),
  deviceID: unique("device"),
  deviceType: 1,
  upLinkSystem: 1,
  authType: 1,
  ...fields,
});

export const metricBody = (point: Rec, fields: Fields = {}) => ({
  metricName: unique("Metric"),
  dataPointIntID: point.id,
  aggregateType: 3,
  ...fields,
});

export const groupBody = (product: Rec, fields: Fields = {}) => ({
  productID: product.productID,
  groupName: unique("Group"),
  ...fields,
});

export const policyBody = (fields: Fields = {}) => ({
  name: unique("Policy"),
  topic: "up/#",
  access: 0,
  allow: 1,
  ...fields,
});

export const productResourceBody = (point: Rec, fields: Fields = {}) => ({
  productID: point.productID,
  codeValue: "serialNumber",
  dataPointIntID: point.id,
  ...fields,
});

export const appTemplateBody = (point: Rec, fields: Fields = {}) => ({
  productID: point.productID,
  templateName: unique("Template"),
  templateType: 1,
  dataPointIntID: point.id,
  ...fields,
});

export const certBody = (fields: Fields = {}) => ({ name: unique("Certificate"), enable: 1, ...fields });

export const makeProduct = (world: World, fields?: Fields) =>
  world.make("/api/v1/products", productBody(fields));

export const makeDataPoint = (world: World, product: Rec, fields?: Fields) =>
  world.make("/api/v1/data_points", dataPointBody(product, fields));

export const makeStream = (world: World, product: Rec, fields?: Fields) =>
  world.make("/api/v1/data_streams", streamBody(product, fields));

export const makeDevice = (world: World, product: Rec, fields?: Fields) =>
  world.make("/api/v1/devices", deviceBody(product, fields));

export const makeMetric = (world: World, point: Rec, fields?: Fields) =>
  world.make("/api/v1/metrics", metricBody(point, fields));

export const makeGroup = (world: World, product: Rec, fields?: Fields) =>
  world.make("/api/v1/groups", groupBody(product, fields));

export const makePolicy = (world: World, fields?: Fields) =>
  world.make("/api/v1/policies", policyBody(fields));

export const gatewayBody = (product: Rec, fields: Fields = {}) => ({
  productID: product.productID,
  gatewayName: unique("Gateway"),
  gatewayProtocol: mqtt,
  upLinkNetwork: 4,
  ...fields,
});

export const makeGateway = (world: World, product: Rec, fields?: Fields) =>
  world.make("/api/v1/gateways", gatewayBody(product, fields));

export const makeProductResource = (world: World, point: Rec, fields?: Fields) =>
  world.make("/api/v1/product_resources", productResourceBody(point, fields));

export const makeAppTemplate = (world: World, point: Rec, fields?: Fields) =>
  world.make("/api/v1/app_templates", appTemplateBody(point, fields));

export const makeCert = (world: World, fields?: Fields) => world.make("/api/v1/certs", certBody(fields));
