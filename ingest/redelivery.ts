import type { JournalRecord } from "../store/journal-record.js";
import { recordKinds } from "../store/journal-record.js";

/** Newest-first records of a device, of every kind. */
export type DeviceHistory = (device: number, recordsMax: number) => Promise<JournalRecord[]>;

/** A QoS 1 message that is recognised as already taken: `key` of its id, topic and payload. */
export type Taken = ReadonlySet<string>;

const messagesMax = 1000;
const windowMicros = 60e6;
/** Other sessions of the device may lie between. */
const recordsMax = 10_000;

export function messageKey(message: {
  readonly messageID: number;
  readonly topic: string;
  readonly payload: Uint8Array;
}): string {
  const body = Buffer.from(message.payload.buffer, message.payload.byteOffset, message.payload.byteLength);
  return `${message.messageID} ${message.topic} ${body.toString("base64")}`;
}

/**
 * What the connection before this one of the same session had sent when it broke off: at most its last 1,000
 * QoS 1 messages, received within 60 s before its end. After an orderly DISCONNECT there is nothing to
 * recognise. `killedAt` stands for the end of connections that a killed run left open (microseconds).
 */
export async function takenBefore(
  history: DeviceHistory,
  own: { readonly device: number; readonly session: number; readonly connection: number },
  killedAt: number,
): Promise<Taken> {
  const records = (await history(own.device, recordsMax)).filter(
    (record) => record.session === own.session && connectionOf(record) < own.connection,
  );
  const last = records[0];
  if (last === undefined) return new Set();
  const ended = last.kind === recordKinds.disconnect;
  if (ended && last.flag) return new Set();
  const endedAt = ended ? last.receivedAt : Math.max(killedAt, last.receivedAt);
  const latest = new Map<number, JournalRecord>();
  const sent = records.filter(
    (record) =>
      record.connection === connectionOf(last) && record.kind === recordKinds.uplink && record.qos === 1,
  );
  for (const record of sent.slice(0, messagesMax)) {
    // Ids are used again and again: only the latest message of an id can be unacknowledged.
    if (!latest.has(record.messageID)) latest.set(record.messageID, record);
  }
  const recent = [...latest.values()].filter((record) => record.receivedAt >= endedAt - windowMicros);
  return new Set(recent.map(messageKey));
}

/** A connection is numbered by its connect record. */
function connectionOf(record: JournalRecord): number {
  return record.kind === recordKinds.connect ? record.id : record.connection;
}
