import type { Downlinks, JournalInput } from "../../store/journal/record.js";
import { decodeDownlinksDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";

type Addressed =
  | Pick<Downlinks, "kind" | "details">
  | Pick<Exclude<JournalInput, Downlinks>, "kind" | "device">;

/** Devices whose sessions a record changes: its own, or those that one message of ours goes to. */
export function devicesOf(record: Addressed): number[] {
  if (record.kind !== recordKinds.downlinks) return [record.device];
  return decodeDownlinksDetails(record.details).to.map(({ device }) => device);
}
