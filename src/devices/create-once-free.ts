import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../../store/lib/errors.js";
import { beingRemoved } from "../../store/metadata/db/sql-errors.js";
import { createDevice, type NewDevice } from "../../store/metadata/devices/devices.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { hasRemoval } from "../../store/metadata/removals.js";
import type { ApiCaller } from "../http/caller.js";
import type { DeviceDeps } from "./draft.js";

const waitMs = 5000;
const lookMs = 50;

/** Resolves once `isTaken` says no, at the latest after five seconds: whether it has. */
export async function untilFree(isTaken: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + waitMs;
  while (await isTaken()) {
    if (performance.now() >= end) return false;
    await delay(lookMs);
  }
  return true;
}

/**
 * Creates a device or gateway. While the points of a deleted one with its deviceID are being removed, it waits for up
 * to five seconds. @throws StoreError CONFLICT naming the field that is taken
 */
export async function createOnceFree(
  { db, devices, now }: DeviceDeps,
  caller: ApiCaller,
  input: NewDevice,
): Promise<Device> {
  const create = () => createDevice(devices, caller, now(), input);
  try {
    return await create();
  } catch (error) {
    const waits = error instanceof StoreError && error.fields.deviceID === beingRemoved;
    if (!waits || !(await untilFree(() => hasRemoval(db, input.deviceID)))) throw error;
    return create();
  }
}
