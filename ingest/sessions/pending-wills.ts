import type { Will } from "../../store/journal/message.js";
import type { Changes } from "./changes.js";
import type { HeldBytes } from "./held-bytes.js";
import type { DeviceSessions, DueWill, SessionState } from "./state.js";
import { weightOfWill } from "./weights.js";

/** Wills of connections that have ended, until their record is on disk. */
export interface PendingWills {
  /** Takes up the wills of a device's loaded sessions. */
  takeUp(deviceSessions: DeviceSessions): void;
  leave(
    deviceSessions: DeviceSessions,
    state: SessionState,
    ended: { connection: number; at: number; will: Will },
  ): void;
  /** If a session ends, its delayed will is due at once; if it goes on, the will is withdrawn. */
  settle(deviceSessions: DeviceSessions, ended: { session: number; at: number }, present: boolean): void;
  published(deviceSessions: DeviceSessions, connection: number): void;
  /** The device is gone. */
  giveUp(deviceSessions: DeviceSessions): void;
  /** Those that are due, each once. */
  due(nowMicros: number): DueWill[];
}

export function createPendingWills(
  changes: Changes,
  registry: ReadonlyMap<number, DeviceSessions>,
  held: HeldBytes,
): PendingWills {
  const withWills = new Set<DeviceSessions>();

  function remove(deviceSessions: DeviceSessions, due: DueWill): void {
    deviceSessions.wills.splice(deviceSessions.wills.indexOf(due), 1);
    held.give(deviceSessions.tenant, weightOfWill(due.will));
  }

  return {
    takeUp: (deviceSessions) => {
      if (deviceSessions.wills.length > 0) withWills.add(deviceSessions);
    },
    leave: (deviceSessions, { session, clientID, ip, expiry }, { connection, at, will }) => {
      const { tenant, device } = deviceSessions;
      const dueAt = at + Math.min(will.delay, expiry) * 1e6;
      withWills.add(deviceSessions);
      held.force(tenant, weightOfWill(will));
      deviceSessions.wills.push({ tenant, device, session, clientID, ip, connection, dueAt, will });
      changes.will(device, connection);
    },
    settle: (deviceSessions, { session, at }, present) => {
      for (const due of [...deviceSessions.wills]) {
        if (due.session !== session || due.dueAt <= at) continue;
        if (present) remove(deviceSessions, due);
        else due.dueAt = at;
        changes.will(due.device, due.connection);
      }
    },
    published: (deviceSessions, connection) => {
      const due = deviceSessions.wills.find((one) => one.connection === connection);
      if (due === undefined) return;
      remove(deviceSessions, due);
      changes.will(deviceSessions.device, connection);
    },
    giveUp: (deviceSessions) => {
      for (const due of [...deviceSessions.wills]) {
        remove(deviceSessions, due);
        changes.will(deviceSessions.device, due.connection);
      }
    },
    due: (nowMicros) => {
      const due: DueWill[] = [];
      for (const deviceSessions of withWills) {
        if (deviceSessions.wills.length === 0 || registry.get(deviceSessions.device) !== deviceSessions)
          withWills.delete(deviceSessions);
        else due.push(...deviceSessions.wills.filter(({ dueAt }) => dueAt <= nowMicros));
      }
      return due;
    },
  };
}
