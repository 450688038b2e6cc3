import { endsWithConnection } from "../../store/journal/message.js";
import type { Changes } from "./changes.js";
import type { DeviceSessions, SessionState } from "./state.js";

/** Marks what changes of a session for the next save, where that is worth it. */
export interface DirtySet {
  session(state: SessionState): void;
  message(state: SessionState, messageID: number): void;
}

export function createDirtySet(changes: Changes, registry: ReadonlyMap<number, DeviceSessions>): DirtySet {
  /** What ends with its connection is not worth saving beyond that it is there. */
  const outlives = ({ expiry }: SessionState): boolean => expiry !== endsWithConnection;
  const isThere = (state: SessionState): boolean =>
    registry.get(state.device)?.sessions.get(state.clientID) === state;
  return {
    session: (state) => {
      // One that has been replaced must not stand for the one in its place.
      if (outlives(state) && isThere(state)) changes.session(state);
    },
    message: (state, messageID) => {
      if (outlives(state)) changes.message(state, messageID);
    },
  };
}
