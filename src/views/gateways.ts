import type { Gateway } from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import type { ViewContext } from "./context.js";

/** A gateway is a row of the device table; its name is in deviceName. */
export function gatewayStored(gateway: Device, context: ViewContext) {
  const { stamp, secrets } = context;
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
    upLinkNetworkLabel: context.label("upLinkNetwork", gateway.upLinkNetwork),
    upLinkProtocol: gateway.upLinkProtocol,
    upLinkProtocolLabel: context.label("upLinkProtocol", gateway.upLinkProtocol),
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
    authTypeLabel: context.label("authType", gateway.authType),
    deviceStatusLabel: context.label("deviceStatus", gateway.deviceStatus),
    gatewayProtocolLabel: context.label("gatewayProtocol", gateway.gatewayProtocol),
  };
}

export function gatewayListed(gateway: Gateway, context: ViewContext) {
  return { ...shown(gateway, context), deviceCount: gateway.deviceCount };
}

export function gatewayDetail(gateway: Device, context: ViewContext) {
  return { ...shown(gateway, context), createUser: gateway.createUser };
}
