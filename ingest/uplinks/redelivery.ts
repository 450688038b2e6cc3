import { createHash } from "node:crypto";
import type { JournalRecord } from "../../store/journal/record.js";
import { recordKinds } from "../../store/journal/record.js";
import { readDisconnectExtra, readMessageExtra } from "../messages/record-extras.js";

/** Newest-first records of a device, of every kind, read as they are wanted. */
export type DeviceHistory = (device: number, recordsMax: number) => AsyncIterable<JournalRecord>;

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
  // No topic holds U+0000.
  const hash = createHash("sha256").update(`${message.topic}\0`).update(message.payload);
  return `${message.messageID} ${hash.digest("base64")}`;
}

/** A connection of the session as the walk back through its records finds it. */
interface Broken {
  readonly connection: number;
  /** Microseconds since 1970. */
  readonly endedAt: number;
}

/**
 * What the connection before this one of the same session had sent when it broke off: at most its last 1,000
 * QoS 1 messages, received within 60 s before its end. After an orderly DISCONNECT there is nothing to
 * recognise. A connection that broke off within 60 s of its CONNECT may not have got through with its own
 * redelivery: behind it, the one before counts as well. `killedAt` stands for the end of connections that a killed
 * run left open (microseconds).
 */
export async function takenBefore(
  history: DeviceHistory,
  own: { readonly device: number; readonly session: number; readonly connection: number },
  killedAt: number,
): Promise<Taken> {
  const taken = new Set<string>();
  /** Ids are used again and again: only the latest message of an id can be unacknowledged. */
  const seen = new Set<number>();
  let walk: Broken | null = null;
  let newest = true;
  let sent = 0;
  for await (const record of history(own.device, recordsMax)) {
    const connection = connectionOf(record);
    if (record.session !== own.session || connection >= own.connection) continue;
    // A will carries its connection's number and may come hours after its end.
    if (record.kind === recordKinds.uplink && readMessageExtra(record.extra).isWill) continue;
    if (walk === null) {
      const ended = record.kind === recordKinds.disconnect;
      if (ended && record.flag) return taken;
      const left = newest && !ended ? killedAt : 0;
      const at = ended ? endOf(record) : Math.max(left, record.receivedAt);
      walk = { connection, endedAt: at };
      newest = false;
    }
    if (connection !== walk.connection) return taken;
    const age = walk.endedAt - record.receivedAt;
    if (age > windowMicros) return taken;
    if (record.kind === recordKinds.connect) walk = null;
    if (record.kind !== recordKinds.uplink || record.qos !== 1) continue;
    if (!seen.has(record.messageID)) taken.add(messageKey(record));
    seen.add(record.messageID);
    if (++sent >= messagesMax) return taken;
  }
  return taken;
}

/** One that a killed run left open is ended by the next start, which says when it was. */
function endOf({ extra, receivedAt }: JournalRecord): number {
  return readDisconnectExtra(extra).endedAt ?? receivedAt;
}

/** A connection is numbered by its connect record. */
function connectionOf(record: JournalRecord): number {
  return record.kind === recordKinds.connect ? record.id : record.connection;
}
