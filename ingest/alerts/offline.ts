import { asError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import { deviceNames } from "../../store/metadata/devices/names.js";
import type { Directory } from "../directory/directory.js";
import type { DeviceStates } from "./device-states.js";
import { raiseOffline } from "./presence-alerts.js";
import type { DeviceState } from "./rule-state.js";

export interface OfflineOptions {
  readonly db: Db;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
  readonly offlineGraceMs: number;
  readonly onTrouble: (error: Error | null) => void;
}

/** Raises the alert of devices that do not come back. */
export interface Offline {
  /** Its connections have changed. */
  note(state: DeviceState): void;
  close(): void;
}

const lookMs = 1000;

/**
 * `left`: devices that were away when the last run ended; their time begins anew, for they could not come back before.
 */
export function createOffline(
  { db, monotonic, offlineGraceMs, onTrouble }: OfflineOptions,
  states: DeviceStates,
  directory: Directory,
  left: readonly { readonly deviceIntID: number }[],
): Offline {
  /** Device → when it is due, monotonic milliseconds; ascending, for the grace is the same for all. */
  const due = new Map(left.map((one) => [one.deviceIntID, monotonic() + offlineGraceMs]));
  let looking = false;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      for (const [id, at] of due) {
        if (at > monotonic()) break;
        const device = await directory.get(id);
        const state = device && (await states.load(device.device));
        const name = (await deviceNames(db, [id])).get(id);
        // It may have come back meanwhile, and gone again; or a message is being applied to it.
        if (due.get(id) !== at || state?.isBusy === true) continue;
        due.delete(id);
        if (state === undefined || name === undefined || state.offlineSince === null) continue;
        // It is blocked on purpose, and nothing that it does could end the alert.
        if (device?.device.blocked === 1) state.offlineSince = null;
        else raiseOffline(state, name.deviceName);
        states.touch(state);
      }
    } catch (error) {
      onTrouble(asError(error));
    } finally {
      looking = false;
    }
  }
  const timer = setInterval(() => void look(), Math.min(lookMs, Math.max(10, offlineGraceMs)));

  return {
    note: (state) => {
      due.delete(state.id);
      if (state.offlineSince !== null) due.set(state.id, monotonic() + offlineGraceMs);
    },
    close: () => clearInterval(timer),
  };
}
