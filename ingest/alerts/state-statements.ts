/** The statements that write what has changed of devices: alerts that begin and end, reported columns, the state. */
import { createSlice } from "../../store/lib/scheduling.js";
import { endAlert, type Raised, raiseAlerts } from "../../store/metadata/alerts/alerts.js";
import type { Statement } from "../../store/metadata/db/db.js";
import {
  type DeviceIngest,
  notYetSaved,
  notYetSavedRows,
  saveDeviceIngests,
  setReported,
} from "../../store/metadata/devices/ingest.js";
import { emptyMap } from "../messages/shared-empty.js";
import { type DeviceState, toDeviceIngest } from "./rule-state.js";

/** The changes that were taken out of a state to be written. */
interface TakenState {
  readonly save: number;
  readonly effects: DeviceState["effects"];
  readonly columns: DeviceState["columns"];
  readonly row: DeviceIngest;
}

/** Devices of one transaction. */
const devicesPerWrite = 200;
/** Alerts that begin or end in one transaction; what waits for one device is written as a whole. */
const effectsPerWrite = 500;
/** Characters of their contents and details, and newest values that are kept with the devices. */
const lengthPerWrite = 1024 * 1024;
const valuesPerWrite = 20_000;
const raisesPerStatement = 500;

/** Where one transaction, which begins at index `from`, should end: the index after its last state. */
export function endOfWrite(states: readonly DeviceState[], from: number): number {
  let [effects, length, values] = [0, 0, 0];
  for (let at = from; at < states.length; at++) {
    const state = states[at] as DeviceState;
    effects += state.effects.length;
    length += state.effectsLength;
    values += state.values.size;
    if (at === from) continue;
    const isFull = effects > effectsPerWrite || length > lengthPerWrite || values > valuesPerWrite;
    if (isFull || at - from === devicesPerWrite) return at;
  }
  return states.length;
}

/**
 * Takes out of the states, one after the other and in slices, what is to be written; `onTaken` receives each. What is
 * taken out of one state belongs together; the next message may change it meanwhile.
 */
export async function takeStatements(
  states: readonly DeviceState[],
  { node, now }: { readonly node: number; readonly now: () => number },
  onTaken: (state: DeviceState) => void,
): Promise<Statement[]> {
  const slice = createSlice();
  const statements: Statement[] = [];
  const rows: DeviceIngest[] = [];
  let raised: Raised[] = [];
  const raiseAll = (): void => {
    if (raised.length > 0) statements.push(raiseAlerts(now(), raised, notYetSavedRows(node)));
    raised = [];
  };
  for (const state of states) {
    const { id, tenant } = state;
    const { save, effects, columns, row } = takeOut(state);
    onTaken(state);
    for (const effect of effects) {
      if (slice.isOver()) await slice.next();
      if (effect.kind === "raise") {
        const { trigger, detail, times } = effect;
        raised.push({ ...trigger, tenant, deviceIntID: id, alertDetail: detail, times, save });
        if (raised.length >= raisesPerStatement) raiseAll();
      } else {
        // Beginnings and ends of alerts keep their order.
        raiseAll();
        statements.push(endAlert(id, effect.cause, effect.endTime, notYetSaved(node, id, save)));
      }
    }
    if (columns.size > 0) statements.push(setReported(id, columns));
    rows.push(row);
    if (slice.isOver()) await slice.next();
  }
  raiseAll();
  return [...statements, saveDeviceIngests(node, rows)];
}

function takeOut(state: DeviceState): TakenState {
  const { effects, columns } = state;
  const save = ++state.saves;
  const taken = { save, effects, columns, row: toDeviceIngest(state) };
  state.effects = [];
  state.effectsLength = 0;
  state.raising = emptyMap;
  state.columns = emptyMap;
  state.isDirty = false;
  state.isUrgent = false;
  return taken;
}
