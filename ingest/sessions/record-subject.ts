/** What every record of a session has in common. */
import type { Journal } from "../../store/journal/journal.js";
import { endsWithConnection } from "../../store/journal/message.js";
import type { JournalInput } from "../../store/journal/record.js";
import type { Origin } from "../uplinks/accept.js";
import type { SessionState } from "./state.js";

/** Converts the origin of a message to the subject of a session's record. */
export function toRecordSubject({ device, connection, session, ip }: Origin) {
  return { tenant: device.device.tenant, device: device.id, connection, session, ip };
}

/** `change` follows the record, or comes at once if nothing of the session outlives the connection. */
export function appendOrApply(
  journal: Journal,
  state: SessionState,
  input: JournalInput,
  change: () => void,
): void {
  if (state.expiry === endsWithConnection) change();
  else journal.append(input, change);
}
