/** The states of devices in memory: read when they are first asked for, written soon after they have changed. */
import { waitUntil } from "../../store/lib/abortable.js";
import { currentCauses } from "../../store/metadata/alerts/alerts.js";
import { type DeviceIngest, findDeviceIngests } from "../../store/metadata/devices/ingest.js";
import { type DeviceState, newState, toDeviceIngest } from "./rule-state.js";
import { createStateWriter, type StateWriterOptions } from "./state-writer.js";

interface OwnedDevice {
  readonly id: number;
  readonly tenant: number;
}

export interface DeviceStates {
  /** From memory only. */
  peek(id: number): DeviceState | undefined;
  load(device: OwnedDevice): Promise<DeviceState>;
  /** Loads those that are missing, together. */
  loadAll(devices: readonly OwnedDevice[]): Promise<void>;
  /** It has changed. */
  touch(state: DeviceState): void;
  /**
   * Writes what has changed and keeps it from being written again until it is released: what follows may take several
   * turns and counts as a whole. Null if the consumer has stopped.
   */
  hold(device: OwnedDevice): Promise<DeviceState | null>;
  /** It has changed, as a whole. */
  release(state: DeviceState): void;
  /** So much waits to be written, of it or of all, that nothing more should be applied to it before that is done. */
  isFull(state: DeviceState): boolean;
  /** Writes the states that wait with effects of alerts. */
  drain(): Promise<void>;
  ingestOf(id: number): Promise<DeviceIngest | undefined>;
  /** Writes at once what has not been written of these devices, once no message is being applied to them. */
  settle(ids: readonly number[]): Promise<void>;
  readonly settledID: number;
  readonly savedID: number;
  /** Writes all that has changed. */
  rest(): Promise<void>;
  /** Writes what is left, if the metadata takes it. */
  close(): Promise<void>;
}

/** Clean states beyond it are forgotten. */
const statesMax = 50_000;
const devicesPerRead = 500;

export function createDeviceStates(options: StateWriterOptions, signal: AbortSignal): DeviceStates {
  const { db, node } = options;
  const states = new Map<number, DeviceState>();
  const writer = createStateWriter(options, evict, signal);
  /** Called when a state is released. */
  const onReleased: (() => void)[] = [];

  async function loadAll(devices: readonly OwnedDevice[]): Promise<void> {
    for (let at = 0; at < devices.length; at += devicesPerRead) {
      const missing = devices.slice(at, at + devicesPerRead).filter(({ id }) => !states.has(id));
      if (missing.length === 0) continue;
      const ids = missing.map(({ id }) => id);
      const rows = await findDeviceIngests(db, node, ids);
      const causes = await currentCauses(db, ids);
      for (const device of missing) {
        const { id } = device;
        if (!states.has(id)) states.set(id, newState(device, rows.get(id), causes.get(id) ?? []));
      }
    }
  }

  async function load(device: OwnedDevice): Promise<DeviceState> {
    const known = states.get(device.id);
    if (known !== undefined) return known;
    await loadAll([device]);
    return states.get(device.id) ?? newState(device, undefined, []);
  }

  function evict(): void {
    if (states.size <= statesMax) return;
    let surplus = states.size - Math.floor(statesMax * 0.9);
    for (const [id, state] of states) {
      if (surplus <= 0) return;
      if (state.isDirty || state.isBusy) continue;
      states.delete(id);
      surplus--;
    }
  }

  function touch(state: DeviceState): void {
    // Its holder does that once the change is complete.
    if (!state.isBusy) writer.touch(state);
  }

  async function settle(ids: readonly number[]): Promise<void> {
    const waits: Promise<void>[] = [];
    await writer.writeSome(() => {
      const known = ids.flatMap((id) => states.get(id) ?? []);
      // A message that is being applied to it must be written too, or it would overwrite a later change by hand.
      const isBusy = known.some((state) => state.isBusy) && !signal.aborted;
      if (isBusy) waits.push(waitUntil(signal, (wake) => void onReleased.push(wake)));
      return isBusy ? [] : known.filter((state) => state.isDirty);
    });
    if (waits.length === 0) return;
    await Promise.all(waits);
    await settle(ids);
  }

  return {
    peek: (id) => states.get(id),
    load,
    loadAll,
    touch,
    hold: async (device) => {
      for (;;) {
        const state = await load(device);
        if (writer.hasFailed || signal.aborted) return null;
        if (!state.isDirty) {
          state.isBusy = true;
          return state;
        }
        await settle([device.id]);
      }
    },
    release: (state) => {
      state.isBusy = false;
      touch(state);
      for (const wake of onReleased.splice(0)) wake();
    },
    isFull: writer.isFull,
    drain: writer.drain,
    ingestOf: async (id) => {
      const state = states.get(id);
      if (state !== undefined) return toDeviceIngest(state);
      return (await findDeviceIngests(db, node, [id])).get(id);
    },
    settle,
    rest: writer.rest,
    get settledID() {
      return writer.settledID;
    },
    get savedID() {
      return writer.savedID;
    },
    close: writer.close,
  };
}
