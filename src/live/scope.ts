/** The devices whose events a stream may receive. */
import type { Db } from "../../store/metadata/db/db.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { devicesOfGroup } from "../../store/metadata/groups/group-devices.js";
import type { ProductCatalog } from "../devices/catalog.js";
import { ApiError, invalid } from "../http/errors.js";

export const streamDevicesMax = 100;
export const streamMembersMax = 1_000;

/** What the caller asks for; both null: all devices of the tenant. */
export interface RequestedScope {
  readonly deviceIDs: readonly string[] | null;
  readonly groupID: string | null;
}

/** By deviceID and by record id; null: all devices. */
export interface LiveScope {
  readonly byText: ReadonlyMap<string, DeviceRef>;
  readonly byNumber: ReadonlyMap<number, DeviceRef>;
}

type ScopeDeps = { readonly catalog: ProductCatalog; readonly db: Db };

/** @throws ApiError DATA_NOT_FOUND, PARAMETER_INVALID */
export async function openScope(
  deps: ScopeDeps,
  tenant: number,
  requested: RequestedScope,
): Promise<LiveScope | null> {
  const { deviceIDs, groupID } = requested;
  if (deviceIDs !== null && groupID !== null) {
    throw invalid({ groupID: "must not be there together with deviceID" });
  }
  if (deviceIDs?.includes("")) throw invalid({ deviceID: "must not hold an empty id" });
  if (deviceIDs !== null && deviceIDs.length > streamDevicesMax) {
    throw invalid({ deviceID: `must name at most ${streamDevicesMax} devices` });
  }
  const scope = await readScope(deps, tenant, requested);
  if (deviceIDs !== null && scope?.byText.size !== deviceIDs.length) {
    throw new ApiError("DATA_NOT_FOUND", "cannot find the device", { deviceID: "unknown" });
  }
  if (groupID !== null && scope === undefined) {
    throw new ApiError("DATA_NOT_FOUND", "cannot find the group", { groupID: "unknown" });
  }
  if ((scope?.byText.size ?? 0) > streamMembersMax) {
    throw invalid({ groupID: `has more than ${streamMembersMax} devices` });
  }
  return scope ?? null;
}

/** As it is now: who has gone is no longer in it. Null: all devices; undefined if the group is gone. */
async function readScope(
  { catalog, db }: ScopeDeps,
  tenant: number,
  { deviceIDs, groupID }: RequestedScope,
): Promise<LiveScope | null | undefined> {
  if (groupID !== null) {
    const members = await devicesOfGroup(db, tenant, groupID, streamMembersMax + 1);
    return members === null ? undefined : createScope(members);
  }
  if (deviceIDs === null) return null;
  const found = await Promise.all(deviceIDs.map((id) => catalog.byDeviceID(tenant, id)));
  return createScope(found.filter((device) => device !== undefined));
}

export async function renewScope(
  deps: ScopeDeps,
  tenant: number,
  requested: RequestedScope,
): Promise<LiveScope | null> {
  const scope = await readScope(deps, tenant, requested);
  return scope === undefined ? createScope([]) : scope;
}

function createScope(devices: readonly DeviceRef[]): LiveScope {
  const some = devices.slice(0, streamMembersMax + 1);
  return {
    byText: new Map(some.map((device) => [device.deviceID, device])),
    byNumber: new Map(some.map((device) => [device.id, device])),
  };
}
