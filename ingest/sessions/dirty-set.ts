import { endsWithConnection } from "../../store/journal/message.js";
import type { Changes } from "./changes.js";
import type { DeviceSessions, SessionState } from "./state.js";

/** Marks changes of a session for the next save, if they are worth saving. */
export interface DirtySet {
  session(state: SessionState): void;
  message(state: SessionState, messageID: number): void;
}

export function createDirtySet(changes: Changes, registry: ReadonlyMap<number, DeviceSessions>): DirtySet {
  /** If a session ends with its connection, only its existence is worth saving. */
  const outlives = ({ expiry }: SessionState): boolean => expiry !== endsWithConnection;
  const isThere = (state: SessionState): boolean =>
    registry.get(state.device)?.sessions.get(state.clientID) === state;
  return {
    session: (state) => {
      // A session that has been replaced must not be saved for the one in its place.
      if (outlives(state) && isThere(state)) changes.session(state);
    },
    message: (state, messageID) => {
      if (outlives(state)) changes.message(state, messageID);
    },
  };
}
