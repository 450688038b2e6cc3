/**
 * The states that wait to be written, and how much is in them; beyond a limit nothing more is applied until some are
 * written.
 */
import type { DeviceState } from "./rule-state.js";

interface StateBacklog {
  /** The state has changed. True: an alert of it has begun or ended, and none had before. */
  note(state: DeviceState): boolean;
  /** Everything of the state has been taken out to be written. */
  forget(state: DeviceState): void;
  /** Whether so much waits, of it or of all, that nothing more should be applied to it before that is done. */
  isFull(state: DeviceState): boolean;
  readonly all: ReadonlySet<DeviceState>;
  /** Those with alerts that have begun or ended. */
  readonly urgent: ReadonlySet<DeviceState>;
  /** Those with effects of any kind. */
  withEffects(): DeviceState[];
}

/** Effects that wait, of states with alerts that have begun or ended. */
const effectsMax = { ofOne: 1000, ofAll: 10_000 } as const;
/** Characters of contents and details that wait, of all effects. */
const lengthMax = { ofOne: 4 * 1024 * 1024, ofAll: 16 * 1024 * 1024 } as const;

export function createStateBacklog(): StateBacklog {
  const all = new Set<DeviceState>();
  const urgent = new Set<DeviceState>();
  const effects = createTally();
  const lengths = createTally();
  return {
    note: (state) => {
      if (!state.isDirty) all.add(state);
      state.isDirty = true;
      if (state.effectsLength > 0) lengths.set(state, state.effectsLength);
      if (!state.isUrgent) return false;
      effects.set(state, state.effects.length);
      if (urgent.has(state)) return false;
      urgent.add(state);
      return true;
    },
    forget: (state) => {
      all.delete(state);
      urgent.delete(state);
      effects.set(state, 0);
      lengths.set(state, 0);
    },
    isFull: (state) =>
      state.effects.length > effectsMax.ofOne ||
      effects.total > effectsMax.ofAll ||
      state.effectsLength > lengthMax.ofOne ||
      lengths.total > lengthMax.ofAll,
    all,
    urgent,
    withEffects: () => [...new Set([...effects.states(), ...lengths.states()])],
  };
}

/** An amount for each state, and their sum. */
function createTally() {
  const amounts = new Map<DeviceState, number>();
  let total = 0;
  return {
    get total() {
      return total;
    },
    set: (state: DeviceState, amount: number): void => {
      const before = amounts.get(state) ?? 0;
      total += amount - before;
      if (amount > 0) amounts.set(state, amount);
      else if (before > 0) amounts.delete(state);
    },
    states: () => amounts.keys(),
  };
}
