import { isMessage, isRefused, type JournalRecord, type MessageRecord } from "../../store/journal/record.js";
import { decodeEntryDetails, sentAtOf } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import type { Message } from "../decode/points.js";

/** A message that may bring points: one that a policy has refused is an event and nothing more. */
export function isDecodable(record: JournalRecord): record is MessageRecord {
  return isMessage(record) && !isRefused(record);
}

export function messageOf(record: MessageRecord): Message {
  return {
    topic: record.topic,
    payload: record.payload as Buffer,
    receivedAt: record.receivedAt,
    stamp: record.stamp,
    isEntry: record.kind === recordKinds.entry,
    sentAt: record.kind === recordKinds.uplink ? sentAtOf(record.details) : null,
    replaced: record.kind === recordKinds.entry ? decodeEntryDetails(record.details).replaced : null,
  };
}
