import type { RowChanges } from "../../../store/mqtt-sessions/session-rows.js";

/** No row has changed. */
export const nothing: RowChanges = {
  sessions: [],
  messages: [],
  retained: [],
  wills: [],
  endedSessions: [],
  endedMessages: [],
  endedRetained: [],
  endedWills: [],
};
