import type { Directory } from "./directory.js";
import type { DeviceEntry } from "./entries.js";

/** Gateways and parent devices between a device and the one above all. */
export const depthMax = 32;

/** The device of this deviceID if it hangs below `above`, however far, and is not blocked. */
export async function findBelow(
  directory: Pick<Directory, "findByDeviceID" | "get">,
  above: DeviceEntry,
  deviceID: string,
): Promise<DeviceEntry | undefined> {
  const found = await directory.findByDeviceID(deviceID);
  if (found === undefined || found.device.blocked === 1) return undefined;
  let { parent } = found.device;
  for (let depth = 0; parent !== null && depth < depthMax; depth++) {
    if (parent === above.id) return found;
    parent = (await directory.get(parent))?.device.parent ?? null;
  }
  return undefined;
}
