import type { Device } from "../../store/devices.js";
import { label } from "./labels.js";
import type { Stamp } from "./time.js";

/** Who looks decides whether the secret shows. */
export interface DeviceViewOptions {
  readonly stamp: Stamp;
  readonly secrets: boolean;
}

/** The fields that every form of the record has. */
function common(device: Device, { stamp, secrets }: DeviceViewOptions) {
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

export function deviceListed(device: Device, options: DeviceViewOptions) {
  return {
    ...common(device, options),
    productIntID: device.productIntID,
    productName: device.productName,
    authTypeLabel: label("authType", device.authType),
    deviceStatusLabel: label("deviceStatus", device.deviceStatus),
    deviceTypeLabel: label("deviceType", device.deviceType),
    cloudProtocolLabel: label("cloudProtocol", device.cloudProtocol),
  };
}

export function deviceDetail(device: Device, options: DeviceViewOptions) {
  return {
    ...deviceListed(device, options),
    gatewayName: device.gatewayName,
    parentDeviceName: device.parentDeviceName,
    clientIP: device.clientIP,
    connectedAt: options.stamp(device.connectedAt),
    keepAlive: device.keepAlive,
    createUser: device.createUser,
  };
}

/** What create and edit answer: no labels, no names looked up elsewhere but the parent's. */
export function deviceStored(device: Device, options: DeviceViewOptions) {
  return {
    ...common(device, options),
    parentDeviceName: device.parentDeviceName,
    clientIP: device.clientIP,
    connectedAt: options.stamp(device.connectedAt),
    keepAlive: device.keepAlive,
  };
}
