import { asError, StoreError } from "../../store/lib/errors.js";
import { retryDelays } from "../../store/lib/retry.js";
import { createSlice, nextTurn } from "../../store/lib/turns.js";
import { currentCauses, endAlert, type Raised, raiseAlerts } from "../../store/metadata/alerts/alerts.js";
import { saveCheckpoint } from "../../store/metadata/checkpoints.js";
import type { Db, Statement } from "../../store/metadata/db/db.js";
import {
  type DeviceIngest,
  findDeviceIngests,
  notYetSaved,
  notYetSavedRows,
  saveDeviceIngests,
  setReported,
} from "../../store/metadata/devices/ingest.js";
import type { Stopper } from "../followers/stopper.js";
import { emptyMap } from "../messages/shared-empty.js";
import { type AlertEffect, type DeviceState, newState, toDeviceIngest } from "./rule-state.js";

export const alertsConsumer = "alerts";

interface StatesOptions {
  readonly db: Db;
  readonly node: number;
  readonly now: () => number;
  /** The checkpoint at start, and the id up to which everything has been applied and what follows from it is kept. */
  readonly from: number;
  readonly position: () => number;
  /** Everything up to there has had its effect. */
  readonly onSettled: (id: number) => void;
  readonly onTrouble: (error: Error | null) => void;
  readonly onFailure: (error: Error) => void;
}

/** What has been taken out of a state to be written. */
interface Taken {
  readonly id: number;
  readonly tenant: number;
  readonly save: number;
  readonly effects: readonly AlertEffect[];
  readonly columns: DeviceState["columns"];
  readonly row: DeviceIngest;
}

interface Owned {
  readonly id: number;
  readonly tenant: number;
}

/** The states of devices in memory, written to the metadata soon after they have changed. */
export interface States {
  /** From memory only. */
  peek(id: number): DeviceState | undefined;
  load(device: Owned): Promise<DeviceState>;
  /** Loads what is missing of these together. */
  loadAll(devices: readonly Owned[]): Promise<void>;
  /** It has changed. */
  touch(state: DeviceState): void;
  /**
   * Keeps it from being written, with nothing left to write, until it is released: what follows may take several
   * turns and counts as a whole. Null where the consumer has stopped.
   */
  hold(device: Owned): Promise<DeviceState | null>;
  /** It has changed, as a whole. */
  release(state: DeviceState): void;
  /** So much waits to be written, of it or of all, that nothing more should be applied to it before. */
  isFull(state: DeviceState): boolean;
  /** Writes what waits with alerts. */
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
/** Devices of one transaction. */
const devicesPerWrite = 200;
/** Alerts that begin or end of one transaction; what one device waits with is written as a whole. */
const effectsPerWrite = 500;
/** Characters of their contents and details, and newest values that are kept with the devices. */
const lengthPerWrite = 1024 * 1024;
const valuesPerWrite = 20_000;
/** Effects that wait, where alerts have begun or ended. */
const effectsMax = { ofOne: 1000, ofAll: 10_000 } as const;
/** Characters of contents and details that wait, of all effects. */
const lengthMax = { ofOne: 4 * 1024 * 1024, ofAll: 16 * 1024 * 1024 } as const;
const devicesPerRead = 500;
const raisesPerStatement = 500;
const alertsMs = 20;
/** Counters and places wait for company, the longer the more devices there are to write. */
const restMs = { least: 200, perDevice: 2, most: 10_000 } as const;
const retryMs = { first: 200, longest: 10_000 } as const;
/** Without effects the checkpoint moves only now and then. */
const checkpointEvery = 10_000;

export function createStates(options: StatesOptions, stopper: Stopper): States {
  const { db, node } = options;
  const states = new Map<number, DeviceState>();
  const dirty = new Set<DeviceState>();
  /** Those with alerts that have begun or ended. */
  const urgent = new Set<DeviceState>();
  /** How many effects each of those waits with. */
  const waiting = new Map<DeviceState, number>();
  let effectsWaiting = 0;
  /** Characters that each waits with, urgent or not. */
  const lengths = new Map<DeviceState, number>();
  let lengthWaiting = 0;
  /** Called when nothing is applied in slices any more. */
  const onReleased: (() => void)[] = [];
  let settledID = options.from;
  let savedID = options.from;
  let nextAt = 0;
  let running: Promise<void> | null = null;
  let failed = false;
  let timer: NodeJS.Timeout | undefined;

  /** Then everything up to the present position has had its effect, whatever the checkpoint says. */
  const isClean = (): boolean => dirty.size === 0 && running === null && !failed;

  function plan(delayMs: number): void {
    if (!stopper.stopped) timer ??= setTimeout(run, delayMs);
  }

  function run(): void {
    timer = undefined;
    if (running === null) void start(flush(performance.now() >= nextAt));
  }

  /** One work at a time takes effects out of the states. */
  function start(work: Promise<void>): Promise<void> {
    running = work
      .catch((error: unknown) => {
        // What was taken out to be written is not in the states any more: nothing may be written behind it.
        failed = true;
        if (!stopper.stopped) options.onFailure(asError(error));
      })
      .finally(() => {
        running = null;
        if (failed) return;
        if (urgent.size > 0) plan(alertsMs);
        else if (dirty.size > 0 || settledID < options.position()) plan(restMs.least);
      });
    return running;
  }

  async function settle(ids: readonly number[]): Promise<void> {
    while (running !== null) await running;
    if (failed) return;
    const known = ids.flatMap((id) => states.get(id) ?? []);
    // What is applied to it now is to be written as well: it would else be written behind what is then changed by hand.
    if (known.some(({ isBusy }) => isBusy) && !stopper.stopped) {
      await stopper.wait((wake) => onReleased.push(wake));
      return settle(ids);
    }
    await start(writeStates(known.filter((state) => state.isDirty)));
  }

  /** `target`: everything up to it is written with the last of them. */
  async function writeStates(chosen: readonly DeviceState[], target: number | null = null): Promise<void> {
    for (let at = 0; at < chosen.length; ) {
      const some = chosen.slice(at, endOfWrite(chosen, at));
      at += some.length;
      const isLast = at === chosen.length;
      const checkpoint = isLast && target !== null ? [saveCheckpoint(node, alertsConsumer, target)] : [];
      await write([...(await takeAll(some)), ...checkpoint]);
      if (checkpoint.length > 0) savedID = Math.max(savedID, target ?? 0);
      await nextTurn();
    }
  }

  /** Writes every dirty device, or those with alerts only. */
  async function flush(all: boolean): Promise<void> {
    const target = options.position();
    const chosen = [...(all ? dirty : urgent)];
    await writeStates(chosen, all ? target : null);
    if (!all) return;
    if (chosen.length === 0 && target - savedID >= checkpointEvery) {
      await write([saveCheckpoint(node, alertsConsumer, target)]);
      savedID = target;
    }
    settledID = Math.max(settledID, target);
    options.onSettled(settledID);
    nextAt = performance.now() + Math.min(restMs.most, restMs.least + chosen.length * restMs.perDevice);
    if (states.size > statesMax) evict();
  }

  function noteLength(state: DeviceState): void {
    const { effectsLength } = state;
    lengthWaiting += effectsLength - (lengths.get(state) ?? 0);
    if (effectsLength > 0) lengths.set(state, effectsLength);
    else lengths.delete(state);
  }

  function noteEffects(state: DeviceState, count: number): void {
    effectsWaiting += count - (waiting.get(state) ?? 0);
    if (count > 0) waiting.set(state, count);
    else waiting.delete(state);
  }

  /** In slices. What is taken out of one state belongs together; the next message may change it meanwhile. */
  async function takeAll(some: readonly DeviceState[]): Promise<Statement[]> {
    const slice = createSlice();
    const effects: Statement[] = [];
    const rows: DeviceIngest[] = [];
    let raised: Raised[] = [];
    const raiseAll = (): void => {
      if (raised.length > 0) effects.push(raiseAlerts(options.now(), raised, notYetSavedRows(node)));
      raised = [];
    };
    for (const state of some) {
      const { id, tenant, save, effects: taken, columns, row } = takeOut(state);
      for (const effect of taken) {
        if (slice.isOver()) await slice.next();
        if (effect.kind === "raise") {
          const { trigger, detail, times } = effect;
          raised.push({ ...trigger, tenant, deviceIntID: id, alertDetail: detail, times, save });
          if (raised.length >= raisesPerStatement) raiseAll();
        } else {
          // The order of what a device was found in is kept.
          raiseAll();
          effects.push(endAlert(id, effect.cause, effect.endTime, notYetSaved(node, id, save)));
        }
      }
      if (columns.size > 0) effects.push(setReported(id, columns));
      rows.push(row);
      if (slice.isOver()) await slice.next();
    }
    raiseAll();
    return [...effects, saveDeviceIngests(node, rows)];
  }

  function takeOut(state: DeviceState): Taken {
    const { id, tenant, effects, columns } = state;
    const save = ++state.saves;
    const taken = { id, tenant, save, effects, columns, row: toDeviceIngest(state) };
    clear(state);
    return taken;
  }

  function clear(state: DeviceState): void {
    state.effects = [];
    state.effectsLength = 0;
    if (state.isUrgent) noteEffects(state, 0);
    if (lengths.has(state)) noteLength(state);
    state.raising = emptyMap;
    state.columns = emptyMap;
    state.isDirty = false;
    state.isUrgent = false;
    dirty.delete(state);
    urgent.delete(state);
  }

  /** Tries the same statements until they are in: a device whose write has succeeded unheard is left alone. */
  async function write(statements: readonly Statement[]): Promise<void> {
    for (const delayMs of retryDelays(retryMs.first, retryMs.longest)) {
      try {
        await db.write(statements);
        options.onTrouble(null);
        return;
      } catch (error) {
        if (stopper.stopped || !(error instanceof StoreError && error.code === "UNAVAILABLE")) throw error;
        options.onTrouble(error);
        await stopper.wait((wake) => void setTimeout(wake, delayMs));
      }
    }
  }

  async function loadAll(devices: readonly Owned[]): Promise<void> {
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

  function evict(): void {
    let surplus = states.size - Math.floor(statesMax * 0.9);
    for (const [id, state] of states) {
      if (surplus <= 0) return;
      if (state.isDirty || state.isBusy) continue;
      states.delete(id);
      surplus--;
    }
  }

  async function load(device: Owned): Promise<DeviceState> {
    const known = states.get(device.id);
    if (known !== undefined) return known;
    await loadAll([device]);
    return states.get(device.id) ?? newState(device, undefined, []);
  }

  function touch(state: DeviceState): void {
    // Whoever holds it does that once it is whole.
    if (state.isBusy) return;
    if (!state.isDirty) dirty.add(state);
    state.isDirty = true;
    if (state.effectsLength > 0) noteLength(state);
    if (!state.isUrgent) {
      plan(restMs.least);
      return;
    }
    noteEffects(state, state.effects.length);
    if (urgent.has(state)) return;
    urgent.add(state);
    clearTimeout(timer);
    timer = undefined;
    plan(alertsMs);
  }

  return {
    peek: (id) => states.get(id),
    load,
    loadAll,
    touch,
    hold: async (device) => {
      for (;;) {
        const state = await load(device);
        if (failed || stopper.stopped) return null;
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
    isFull: (state) =>
      state.effects.length > effectsMax.ofOne ||
      effectsWaiting > effectsMax.ofAll ||
      state.effectsLength > lengthMax.ofOne ||
      lengthWaiting > lengthMax.ofAll,
    drain: async () => {
      while (running !== null) await running;
      if (!failed) await start(writeStates([...new Set([...waiting.keys(), ...lengths.keys()])]));
    },
    ingestOf: async (id) => {
      const state = states.get(id);
      if (state !== undefined) return toDeviceIngest(state);
      return (await findDeviceIngests(db, node, [id])).get(id);
    },
    settle,
    rest: async () => {
      while (running !== null) await running;
      if (!failed) await start(flush(true));
    },
    get settledID() {
      return isClean() ? options.position() : settledID;
    },
    get savedID() {
      return isClean() ? options.position() : savedID;
    },
    close: async () => {
      clearTimeout(timer);
      await running;
      if (!failed) await flush(true).catch((error: unknown) => options.onTrouble(asError(error)));
    },
  };
}

/** Where the next transaction of these devices ends: by the devices, and by what is written of them. */
function endOfWrite(chosen: readonly DeviceState[], from: number): number {
  let [effects, length, values] = [0, 0, 0];
  for (let at = from; at < chosen.length; at++) {
    const state = chosen[at] as DeviceState;
    effects += state.effects.length;
    length += state.effectsLength;
    values += state.values.size;
    if (at === from) continue;
    const isFull = effects > effectsPerWrite || length > lengthPerWrite || values > valuesPerWrite;
    if (isFull || at - from === devicesPerWrite) return at;
  }
  return chosen.length;
}
