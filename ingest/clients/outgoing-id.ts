import type { Outgoing } from "../sessions/state.js";

/** Names a message of a session for its receipt: packet ids come again, with the time of the message they do not. */
export function outgoingID({ messageID, at }: Outgoing): string {
  return `${messageID}-${at.toString(36)}`;
}
