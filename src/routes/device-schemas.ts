import { z } from "@hono/zod-openapi";
import { floatOrNull, intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";

/** The answers of devices in both variants, and of gateways. */

const connection = { clientIP: textOrNull, connectedAt: stampOrNull, keepAlive: intOrNull };

/** The fields of every form of a device or gateway, in either variant. */
const common = z.object({
  id: intSchema,
  deviceID: z.string(),
  deviceUsername: z.string(),
  token: textOrNull,
  authType: intSchema,
  blocked: intSchema,
  productID: z.string(),
  manufacturer: textOrNull,
  serialNumber: textOrNull,
  softVersion: textOrNull,
  hardwareVersion: textOrNull,
  description: textOrNull,
  userIntID: intOrNull,
  createAt: stampText,
  updateAt: stampOrNull,
});

export const deviceStoredSchema = common
  .extend({
    deviceName: z.string(),
    deviceStatus: intSchema,
    deviceType: intOrNull,
    upLinkSystem: intOrNull,
    gateway: intOrNull,
    parentDevice: intOrNull,
    parentDeviceName: textOrNull,
    cloudProtocol: intSchema,
    modBusIndex: intOrNull,
    carrier: intOrNull,
    physicalNetwork: intOrNull,
    IMEI: textOrNull,
    IMSI: textOrNull,
    autoSub: intOrNull,
    deviceConsoleIP: textOrNull,
    deviceConsolePort: intOrNull,
    deviceConsoleUsername: textOrNull,
    latitude: floatOrNull,
    longitude: floatOrNull,
    location: z.unknown(),
    lora: z.record(z.string(), z.unknown()).nullable(),
    metaData: z.unknown(),
    scopes: z.array(z.record(z.string(), z.unknown())),
    ...connection,
    tenantID: z.string(),
  })
  .openapi("DeviceStored");
export const deviceDetailSchema = deviceStoredSchema
  .extend({
    productIntID: intSchema,
    productName: z.string(),
    authTypeLabel: textOrNull,
    deviceStatusLabel: textOrNull,
    deviceTypeLabel: textOrNull,
    cloudProtocolLabel: textOrNull,
    gatewayName: textOrNull,
    createUser: textOrNull,
  })
  .openapi("DeviceDetail");
export const deviceListedSchema = deviceDetailSchema
  .omit({
    clientIP: true,
    connectedAt: true,
    createUser: true,
    gatewayName: true,
    keepAlive: true,
    parentDeviceName: true,
  })
  .openapi("Device");

const commonB = common.extend({
  deviceName: z.string(),
  deviceType: intSchema,
  status: intSchema,
  location: textOrNull,
  tenantID: z.string(),
});
const labelsB = { deviceTypeLabel: z.string(), statusLabel: z.string() };
const broker = textOrNull.openapi({ example: "tidemark.example:1883" });
const brokersB = {
  mqttBroker: broker,
  mqttsBroker: broker,
  mqttssBroker: broker,
  coapBroker: broker,
  coapsBroker: broker,
  coapssBroker: broker,
};

export const deviceListedSchemaB = commonB.extend({ productName: z.string(), ...labelsB }).openapi("DeviceB");
export const deviceStoredSchemaB = commonB.extend({ ...connection, ...brokersB }).openapi("DeviceStoredB");
export const deviceDetailSchemaB = deviceStoredSchemaB
  .extend({ ...labelsB, createUser: textOrNull })
  .openapi("DeviceDetailB");

export const gatewayStoredSchema = common
  .extend({
    gatewayName: z.string(),
    deviceStatus: intSchema,
    gatewayProtocol: intOrNull,
    upLinkNetwork: intOrNull,
    upLinkNetworkLabel: textOrNull,
    upLinkProtocol: intOrNull,
    upLinkProtocolLabel: textOrNull,
    mac: textOrNull,
    productName: z.string(),
    location: z.unknown(),
    deviceConsoleIP: textOrNull,
    deviceConsolePort: intOrNull,
    deviceConsoleUsername: textOrNull,
  })
  .openapi("GatewayStored");
const gatewayShown = gatewayStoredSchema.extend({
  authTypeLabel: textOrNull,
  deviceStatusLabel: textOrNull,
  gatewayProtocolLabel: textOrNull,
});
export const gatewayListedSchema = gatewayShown.extend({ deviceCount: intSchema }).openapi("Gateway");
export const gatewayDetailSchema = gatewayShown.extend({ createUser: textOrNull }).openapi("GatewayDetail");
