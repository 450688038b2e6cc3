import { type ByShard, Elsewhere } from "../directory/by-shard.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { Meter } from "../meter.js";
import type { Accept } from "../uplinks/accept.js";

/** Records refused connections of known devices, so that their owner sees that someone guesses. */
export interface Denials {
  add(device: DeviceEntry, ip: string, clientID: string, keepAlive: number): void;
}

const recordEveryMs = 1000;
/** The most records of all devices together in one such interval. */
const recordsMax = 1000;

/**
 * At most one record a device and second, and so many in all: guessing must not fill the disk. The excess is counted.
 */
export function createDenials(shards: ByShard<Accept>, meter: Meter, monotonic: () => number): Denials {
  let second = 0;
  const recorded = new Set<number>();

  function addTo(
    accept: Accept | Elsewhere,
    ...[device, ip, clientID, keepAlive]: Parameters<Denials["add"]>
  ): void {
    const current = Math.floor(monotonic() / recordEveryMs);
    if (current !== second) recorded.clear();
    second = current;
    // A device that has come to another node's shard since: its next attempt is passed on.
    const isElsewhere = accept instanceof Elsewhere;
    if (isElsewhere || recorded.has(device.id) || recorded.size >= recordsMax || accept.full) {
      meter.denialsUnrecorded++;
      return;
    }
    recorded.add(device.id);
    accept.deny(device, ip, clientID, keepAlive);
  }

  return {
    add: (device, ...attempt) => {
      const accept = shards.peek(device);
      if (accept !== null) return addTo(accept, device, ...attempt);
      shards.of(device).then(
        (found) => addTo(found, device, ...attempt),
        () => {
          meter.denialsUnrecorded++;
        },
      );
    },
  };
}
