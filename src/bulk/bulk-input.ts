import type { FleetFilters } from "../../store/metadata/fleet/filters.js";

/** The action on each device. */
export type BulkAct =
  | {
      readonly action: "command";
      readonly topic: string;
      readonly payload: string;
      readonly qos: 0 | 1;
      readonly ttl: number;
    }
  | { readonly action: "addToGroup" | "removeFromGroup"; readonly groupIntID: number }
  | { readonly action: "block" | "unblock" | "delete" };

/** The task's input, stored as JSON: record ids, or filters of the fleet. */
export type BulkInput = BulkAct & ({ readonly ids: readonly number[] } | { readonly filter: FleetFilters });

export const bulkDevices = "bulk_devices";

/** Devices that one filter may mean. */
export const bulkDevicesMax = 100_000;
/** Bytes of a command's payload, once for each device: each keeps its log. */
export const bulkPayloadBytesMax = 64 * 1024 * 1024;

export function isPayloadTooLarge(act: BulkAct, devices: number): boolean {
  return act.action === "command" && Buffer.byteLength(act.payload) * devices > bulkPayloadBytesMax;
}
