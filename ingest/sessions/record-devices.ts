import { type JournalRecord, recordKinds } from "../../store/journal/record.js";
import { readRecipientsExtra } from "../messages/record-extras.js";

/** Devices whose sessions a record changes: its own, or those that one message of ours goes to. */
export function devicesOf({
  kind,
  device,
  extra,
}: Pick<JournalRecord, "kind" | "device" | "extra">): number[] {
  if (kind !== recordKinds.downlinks) return [device];
  return readRecipientsExtra(extra).to.map(([to]) => to);
}
