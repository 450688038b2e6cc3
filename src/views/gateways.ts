import type { Gateway } from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { label } from "../http/labels.js";
import type { ViewContext } from "./context.js";

/** A gateway is a row of the device table; its name is in deviceName. */
export function gatewayStored(gateway: Device, { stamp, secrets }: ViewContext) {
  return {
    id: gateway.id,
    gatewayName: gateway.deviceName,
    deviceID: gateway.deviceID,
    deviceUsername: gateway.deviceUsername,
    token: secrets ? gateway.token : null,
    authType: gateway.authType,
    blocked: gateway.blocked,
    deviceStatus: gateway.deviceStatus,
    gatewayProtocol: gateway.gatewayProtocol,
    upLinkNetwork: gateway.upLinkNetwork,
    upLinkNetworkLabel: label("upLinkNetwork", gateway.upLinkNetwork),
    upLinkProtocol: gateway.upLinkProtocol,
    upLinkProtocolLabel: label("upLinkProtocol", gateway.upLinkProtocol),
    mac: gateway.mac,
    productID: gateway.productID,
    productName: gateway.productName,
    manufacturer: gateway.manufacturer,
    serialNumber: gateway.serialNumber,
    softVersion: gateway.softVersion,
    hardwareVersion: gateway.hardwareVersion,
    description: gateway.description,
    location: gateway.location ?? null,
    deviceConsoleIP: gateway.deviceConsoleIP,
    deviceConsolePort: gateway.deviceConsolePort,
    deviceConsoleUsername: gateway.deviceConsoleUsername,
    userIntID: gateway.userIntID,
    createAt: stamp(gateway.createAt),
    updateAt: stamp(gateway.updateAt),
  };
}

function shown(gateway: Device, context: ViewContext) {
  return {
    ...gatewayStored(gateway, context),
    authTypeLabel: label("authType", gateway.authType),
    deviceStatusLabel: label("deviceStatus", gateway.deviceStatus),
    gatewayProtocolLabel: label("gatewayProtocol", gateway.gatewayProtocol),
  };
}

export function gatewayListed(gateway: Gateway, context: ViewContext) {
  return { ...shown(gateway, context), deviceCount: gateway.deviceCount };
}

export function gatewayDetail(gateway: Device, context: ViewContext) {
  return { ...shown(gateway, context), createUser: gateway.createUser };
}
