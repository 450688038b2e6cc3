import { isMessage, isRefused, type JournalRecord, type MessageRecord } from "../../store/journal/record.js";
import { decodeEntryDetails, readSentAt } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import type { DecodableMessage } from "../decode/points.js";

/** A message that may bring points: one that a policy has refused is an event and nothing more. */
export function isDecodable(record: JournalRecord): record is MessageRecord {
  return isMessage(record) && !isRefused(record);
}

export function toMessage(record: MessageRecord): DecodableMessage {
  return {
    topic: record.topic,
    payload: record.payload as Buffer,
    receivedAt: record.receivedAt,
    stamp: record.stamp,
    isEntry: record.kind === recordKinds.entry,
    sentAt: record.kind === recordKinds.uplink ? readSentAt(record.details) : null,
    replaced: record.kind === recordKinds.entry ? decodeEntryDetails(record.details).replaced : null,
  };
}
