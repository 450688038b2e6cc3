/** How Variant B shows the same records: its device types, and locations as texts. */
import type { NewDevice } from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";

/** Variant B's deviceType, which distinguishes gateways from devices, and how each code is stored. */
export const typesB = { terminal: 0, gateway: 1, smartphone: 2 } as const;
export type DeviceTypeB = (typeof typesB)[keyof typeof typesB];

const smartphoneA = 3;

export function deviceTypeB({ kind, deviceType }: Pick<Device, "kind" | "deviceType">): DeviceTypeB {
  if (kind === "gateway") return typesB.gateway;
  return deviceType === smartphoneA ? typesB.smartphone : typesB.terminal;
}

/** A terminal connects to the cloud; a phone has no uplink system. */
export const storedTypes: Readonly<
  Record<DeviceTypeB, Required<Pick<NewDevice, "kind" | "deviceType" | "upLinkSystem">>>
> = {
  [typesB.terminal]: { kind: "device", deviceType: 1, upLinkSystem: 1 },
  [typesB.gateway]: { kind: "gateway", deviceType: null, upLinkSystem: null },
  [typesB.smartphone]: { kind: "device", deviceType: smartphoneA, upLinkSystem: null },
};

/** Variant B's location is a text; a location that Variant A set as JSON shows as its JSON text. */
export function locationB({ location }: Pick<Device, "location">): string | null {
  if (location === null || location === undefined) return null;
  return typeof location === "string" ? location : JSON.stringify(location);
}
