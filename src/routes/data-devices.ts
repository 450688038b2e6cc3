import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { devicesOfGroup } from "../../store/metadata/groups/group-devices.js";
import { ApiError, invalid } from "../http/errors.js";
import type { AppDeps } from "./deps.js";

/** The devices whose data is asked for. */

/** Devices of one answer. */
export const queriedDevicesMax = 100;

export interface DeviceNames {
  /** One string id, or several separated by commas, which no id contains. */
  readonly deviceID: string | null;
  readonly deviceIntID: number | null;
  readonly groupID: string | null;
}

export interface RequestedDevices {
  readonly devices: readonly DeviceRef[];
  /** Whether several devices could be meant; each item of the answer then names its device. */
  readonly several: boolean;
}

/** @throws ApiError PARAMETER_INVALID, DATA_NOT_FOUND */
export async function findDevices(
  deps: Pick<AppDeps, "catalog" | "db">,
  tenant: number,
  names: DeviceNames,
): Promise<RequestedDevices> {
  const { deviceID, deviceIntID, groupID } = names;
  if (groupID !== null) {
    if (deviceID !== null || deviceIntID !== null) {
      throw invalid({ groupID: "must not be there together with deviceID or deviceIntID" });
    }
    return { devices: await listMembers(deps, tenant, groupID), several: true };
  }
  const ids = deviceID?.split(",") ?? [];
  if (ids.length < 2)
    return { devices: [await findDevice(deps, tenant, deviceID, deviceIntID)], several: false };
  if (deviceIntID !== null) throw invalid({ deviceIntID: "must not be there together with several devices" });
  if (ids.includes("")) throw invalid({ deviceID: "must not hold an empty id" });
  const distinct = [...new Set(ids)];
  if (distinct.length > queriedDevicesMax)
    throw invalid({ deviceID: `must name at most ${queriedDevicesMax} devices` });
  const devices = await Promise.all(distinct.map((id) => findDevice(deps, tenant, id, null)));
  return { devices, several: true };
}

async function listMembers(
  { db }: Pick<AppDeps, "db">,
  tenant: number,
  groupID: string,
): Promise<DeviceRef[]> {
  const devices = await devicesOfGroup(db, tenant, groupID, queriedDevicesMax + 1);
  if (devices === null) throw new ApiError("DATA_NOT_FOUND", "cannot find the group", { groupID: "unknown" });
  if (devices.length > queriedDevicesMax)
    throw invalid({ groupID: `has more than ${queriedDevicesMax} devices` });
  return devices;
}

/** …ID is only the string id, …IntID only the record id; together they must name one device. */
export async function findDevice(
  { catalog }: Pick<AppDeps, "catalog">,
  tenant: number,
  deviceID: string | null,
  deviceIntID: number | null,
): Promise<DeviceRef> {
  const byText = deviceID === null ? null : await catalog.byDeviceID(tenant, deviceID);
  if (byText === undefined)
    throw new ApiError("DATA_NOT_FOUND", "cannot find the device", { deviceID: "unknown" });
  const byNumber = deviceIntID === null ? null : await catalog.byIntID(tenant, deviceIntID);
  const found = byText ?? byNumber;
  if (byNumber === undefined || !found) {
    throw new ApiError("DATA_NOT_FOUND", "cannot find the device", { deviceIntID: "unknown" });
  }
  if (byNumber !== null && byNumber.id !== found.id) {
    throw invalid({ deviceIntID: "is another device than deviceID" });
  }
  return found;
}
