/** What removals ask of the writer: which devices have points, and the removal itself, by device, field or age. */

import type { DeviceKey, SeriesStore } from "../series.js";
import { isStorable, nameOfDevice, type RemovedScope } from "./names.js";
import type { Threads } from "./threads.js";

type RemovalCalls = Pick<SeriesStore, "whichHavePoints" | "removeDevices" | "removeFields" | "removeBefore">;

export function createRemovalCalls({ ask, readers }: Pick<Threads, "ask" | "readers">): RemovalCalls {
  async function remove(scopes: readonly RemovedScope[]): Promise<void> {
    await ask("remove", scopes.filter(isStorable));
  }

  return {
    whichHavePoints: async (devices) => {
      const keys = devices
        .filter(isStorable)
        .map(({ tenant, productID, deviceID }) => ({ tenant, productID, deviceID }));
      const having = new Set(
        (await ask("havePoints", keys)).map((index) => nameOfDevice(keys[index] as DeviceKey)),
      );
      return devices.map((device) => having.has(nameOfDevice(device)));
    },
    removeDevices: (devices) =>
      remove(devices.map(({ tenant, productID, deviceID }) => ({ tenant, productID, deviceID }))),
    removeFields: (fields) =>
      remove(fields.map(({ tenant, productID, field }) => ({ tenant, productID, field }))),
    removeBefore: async (time) => {
      const retired = await ask("retire", time);
      await readers.forget(retired.map((part) => part.path));
      return ask("dropOld", { time, retired });
    },
  };
}
