import type { Device } from "../../store/metadata/devices/record.js";
import { deviceTypeB, locationB } from "../devices/variant-b.js";
import { type BrokerAddresses, type Brokers, brokerAddresses } from "./broker-info.js";
import type { ViewContext } from "./context.js";

/** Devices as each variant shows them. Variant B includes gateways. */

/** A view of a device; brokers are shown in Variant B's details. */
export interface DeviceContext extends ViewContext {
  readonly brokers: Brokers;
}

/** The fields that every form of Variant A has. */
function common(device: Device, { stamp, secrets }: ViewContext) {
  return {
    id: device.id,
    deviceID: device.deviceID,
    deviceName: device.deviceName,
    deviceUsername: device.deviceUsername,
    token: secrets ? device.token : null,
    authType: device.authType,
    blocked: device.blocked,
    deviceStatus: device.deviceStatus,
    deviceType: device.deviceType,
    upLinkSystem: device.upLinkSystem,
    gateway: device.gateway,
    parentDevice: device.parentDevice,
    productID: device.productID,
    cloudProtocol: device.cloudProtocol,
    modBusIndex: device.modBusIndex,
    carrier: device.carrier,
    physicalNetwork: device.physicalNetwork,
    IMEI: device.IMEI,
    IMSI: device.IMSI,
    autoSub: device.autoSub,
    manufacturer: device.manufacturer,
    serialNumber: device.serialNumber,
    softVersion: device.softVersion,
    hardwareVersion: device.hardwareVersion,
    description: device.description,
    deviceConsoleIP: device.deviceConsoleIP,
    deviceConsolePort: device.deviceConsolePort,
    deviceConsoleUsername: device.deviceConsoleUsername,
    latitude: device.latitude,
    longitude: device.longitude,
    location: device.location ?? null,
    lora: secrets ? device.lora : withoutKeys(device.lora),
    metaData: device.metaData ?? null,
    scopes: device.scopes,
    tenantID: device.tenantID,
    userIntID: device.userIntID,
    createAt: stamp(device.createAt),
    updateAt: stamp(device.updateAt),
  };
}

function withoutKeys(lora: Device["lora"]): Device["lora"] {
  return lora === null ? null : { ...lora, appKey: null, nwkSKey: null, appSKey: null };
}

function listedA(device: Device, context: ViewContext) {
  return {
    ...common(device, context),
    productIntID: device.productIntID,
    productName: device.productName,
    authTypeLabel: context.label("authType", device.authType),
    deviceStatusLabel: context.label("deviceStatus", device.deviceStatus),
    deviceTypeLabel: context.label("deviceType", device.deviceType),
    cloudProtocolLabel: context.label("cloudProtocol", device.cloudProtocol),
  };
}

/** The service's own view of a connected device. */
function connection(device: Device, { stamp }: ViewContext) {
  return {
    clientIP: device.clientIP,
    connectedAt: stamp(device.connectedAt),
    keepAlive: device.keepAlive,
  };
}

function commonB(device: Device, { stamp, secrets }: ViewContext) {
  return {
    id: device.id,
    deviceID: device.deviceID,
    deviceName: device.deviceName,
    deviceUsername: device.deviceUsername,
    token: secrets ? device.token : null,
    authType: device.authType,
    blocked: device.blocked,
    productID: device.productID,
    deviceType: deviceTypeB(device),
    status: statusB(device),
    manufacturer: device.manufacturer,
    serialNumber: device.serialNumber,
    softVersion: device.softVersion,
    hardwareVersion: device.hardwareVersion,
    description: device.description,
    location: locationB(device),
    tenantID: device.tenantID,
    userIntID: device.userIntID,
    createAt: stamp(device.createAt),
    updateAt: stamp(device.updateAt),
  };
}

function labelsB(device: Device, context: ViewContext) {
  return {
    deviceTypeLabel: context.labelB("deviceType", deviceTypeB(device)),
    statusLabel: context.labelB("status", statusB(device)),
  };
}

/** Variant B has no sleeping state. */
function statusB({ deviceStatus }: Device): number {
  return Math.min(deviceStatus, 1);
}

function brokersB({ brokers }: DeviceContext): Omit<BrokerAddresses, "wsBroker" | "wssBroker"> {
  const { wsBroker: _ws, wssBroker: _wss, ...shown } = brokerAddresses(brokers);
  return shown;
}

export function deviceListed(device: Device, context: ViewContext) {
  if (context.variant === "A") return listedA(device, context);
  return { ...commonB(device, context), productName: device.productName, ...labelsB(device, context) };
}

export function deviceDetail(device: Device, context: DeviceContext) {
  const shared = { ...connection(device, context), createUser: device.createUser };
  if (context.variant === "B") {
    return { ...commonB(device, context), ...labelsB(device, context), ...shared, ...brokersB(context) };
  }
  return {
    ...listedA(device, context),
    ...shared,
    gatewayName: device.gatewayName,
    parentDeviceName: device.parentDeviceName,
  };
}

/** The answer to create and edit: no labels, and no names looked up elsewhere but the parent's. */
export function deviceStored(device: Device, context: DeviceContext) {
  if (context.variant === "B") {
    return { ...commonB(device, context), ...connection(device, context), ...brokersB(context) };
  }
  return {
    ...common(device, context),
    parentDeviceName: device.parentDeviceName,
    ...connection(device, context),
  };
}
