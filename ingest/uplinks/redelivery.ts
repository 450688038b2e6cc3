import { createHash } from "node:crypto";
import { type Disconnect, findConnectionID, type JournalRecord } from "../../store/journal/record.js";
import { decodeDisconnectDetails, decodeUplinkDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";

/** Messages and connections of a device, the newest first; read as they are needed. */
export type DeviceHistory = (device: number, recordsMax: number) => AsyncIterable<JournalRecord>;

/** QoS 1 messages that have been taken: `messageKey` of the id, topic and payload of each. */
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

/** A connection of the session, as found on the way back through its records. */
interface Broken {
  readonly connection: number;
  /** Microseconds since 1970. */
  readonly endedAt: number;
}

/**
 * What the connection before this one of the same session had sent when it broke off: at most its last 1,000
 * QoS 1 messages, received within 60 s before its end. After an orderly DISCONNECT there is nothing to
 * recognise. A connection that broke off within 60 s of its CONNECT may not have got through with its own
 * redelivery: then the one before it counts as well. `killedAt` stands for the end of connections that a killed
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
    if (!("session" in record) || record.session !== own.session) continue;
    const connection = findConnectionID(record);
    if (connection >= own.connection) continue;
    // A will carries its connection's number and may come hours after its end.
    if (record.kind === recordKinds.uplink && decodeUplinkDetails(record.details).isWill) continue;
    if (walk === null) {
      const ended = record.kind === recordKinds.disconnect ? record : null;
      if (ended?.orderly === true) return taken;
      const left = newest ? killedAt : 0;
      const endedAt = ended === null ? Math.max(left, record.receivedAt) : readEndTime(ended);
      walk = { connection, endedAt };
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

/** A connection that a killed run left open is ended by the next start, which records when it ended. */
function readEndTime({ details, receivedAt }: JournalRecord<Disconnect>): number {
  return decodeDisconnectDetails(details).endedAt ?? receivedAt;
}
