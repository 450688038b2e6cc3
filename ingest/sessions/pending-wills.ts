import type { Will } from "../../store/journal/message.js";
import type { Changes } from "./changes.js";
import type { HeldBytes } from "./held-bytes.js";
import type { DueWill, SessionState, Space } from "./state.js";
import { weightOfWill } from "./weights.js";

/** Wills of connections that have ended, until their record is on disk. */
export interface PendingWills {
  /** What a loaded space holds. */
  takeUp(space: Space): void;
  leave(space: Space, state: SessionState, ended: { connection: number; at: number; will: Will }): void;
  /** A session that ends takes its delayed will with it to the front; one that goes on takes it back. */
  settle(space: Space, ended: { session: number; at: number }, present: boolean): void;
  published(space: Space, connection: number): void;
  /** The device is gone. */
  giveUp(space: Space): void;
  /** Those that are due, each once. */
  due(nowMicros: number): DueWill[];
}

export function createPendingWills(
  changes: Changes,
  spaces: ReadonlyMap<number, Space>,
  held: HeldBytes,
): PendingWills {
  const withWills = new Set<Space>();

  function remove(space: Space, due: DueWill): void {
    space.wills.splice(space.wills.indexOf(due), 1);
    held.give(space.tenant, weightOfWill(due.will));
  }

  return {
    takeUp: (space) => {
      if (space.wills.length > 0) withWills.add(space);
    },
    leave: (space, { session, clientID, ip, expiry }, { connection, at, will }) => {
      const { tenant, device } = space;
      const dueAt = at + Math.min(will.delay, expiry) * 1e6;
      withWills.add(space);
      held.force(tenant, weightOfWill(will));
      space.wills.push({ tenant, device, session, clientID, ip, connection, dueAt, will });
      changes.will(device, connection);
    },
    settle: (space, { session, at }, present) => {
      for (const due of [...space.wills]) {
        if (due.session !== session || due.dueAt <= at) continue;
        if (present) remove(space, due);
        else due.dueAt = at;
        changes.will(due.device, due.connection);
      }
    },
    published: (space, connection) => {
      const due = space.wills.find((one) => one.connection === connection);
      if (due === undefined) return;
      remove(space, due);
      changes.will(space.device, connection);
    },
    giveUp: (space) => {
      for (const due of [...space.wills]) {
        remove(space, due);
        changes.will(space.device, due.connection);
      }
    },
    due: (nowMicros) => {
      const due: DueWill[] = [];
      for (const space of withWills) {
        if (space.wills.length === 0 || spaces.get(space.device) !== space) withWills.delete(space);
        else due.push(...space.wills.filter(({ dueAt }) => dueAt <= nowMicros));
      }
      return due;
    },
  };
}
