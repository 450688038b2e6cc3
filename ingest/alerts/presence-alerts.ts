import type { Connect, Disconnect, JournalRecord } from "../../store/journal/record.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { countOn, type DeviceState, endMessage, raise, recoverRuleState } from "./rule-state.js";

const offlineCause = "offline";

const connectionsMax = 64;

/**
 * Follows the connections of a device. One whose last connection has ended without DISCONNECT is offline, which
 * becomes an alert when it has not come back for a while. Connections up to `diedAt` ended with an earlier run.
 */
export function followPresence(
  state: DeviceState,
  record: JournalRecord<Connect | Disconnect>,
  diedAt: number,
): void {
  if (record.id > diedAt) state.connections = state.connections.filter((id) => id > diedAt);
  if (record.kind === recordKinds.connect) {
    state.connections = [...state.connections.slice(1 - connectionsMax), record.id];
    state.offlineSince = null;
    recoverRuleState(state, offlineCause, record.receivedAt);
    endMessage(state);
    return;
  }
  const left = state.connections.filter((id) => id !== record.connection);
  const wasThere = left.length < state.connections.length;
  state.connections = left;
  if (!wasThere || left.length > 0) return;
  state.offlineSince = record.orderly ? null : Math.floor(record.receivedAt / 1000);
}

/** The device has not come back in time. */
export function raiseOffline(state: DeviceState, deviceName: string): void {
  const startTime = state.offlineSince;
  if (startTime === null) return;
  state.offlineSince = null;
  const message = { id: startTime, detail: () => "{}" };
  if (countOn(state, offlineCause, message)) return;
  const alertContent = `设备离线：${deviceName}`;
  const trigger = { cause: offlineCause, alertName: "设备离线", alertContent, alertSeverity: 4, startTime };
  raise(state, trigger, message);
  endMessage(state);
}
