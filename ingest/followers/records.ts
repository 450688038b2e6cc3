import { type JournalRecord, recordKinds } from "../../store/journal/record.js";
import type { Message } from "../decode/points.js";

const messageKinds: ReadonlySet<number> = new Set([recordKinds.uplink, recordKinds.entry]);

/** A message of a device, as itself or as an entry of an envelope. */
export function isMessage(record: JournalRecord): boolean {
  return messageKinds.has(record.kind);
}

/** One that a policy has refused is an event and nothing more. */
export function isDecodable(record: JournalRecord): boolean {
  return isMessage(record) && !record.flag;
}

export function messageOf(record: JournalRecord): Message {
  return {
    topic: record.topic,
    payload: record.payload as Buffer,
    receivedAt: record.receivedAt,
    stamp: record.stamp,
    isEntry: record.kind === recordKinds.entry,
  };
}
