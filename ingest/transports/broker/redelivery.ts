import { crc32c } from "../../../store/crc32c.js";
import { recordKinds } from "../../../store/journal-record.js";
import { type DeviceHistory, messageKey, type Taken } from "../../redelivery.js";
import { receiveMaximum } from "./settings.js";

/** A message by what the broker sends again with DUP: packet id, topic and payload. */
interface Named {
  readonly messageID: number;
  readonly topic: string;
  readonly payload: Uint8Array;
}

/** What this run has taken of one session of the broker. */
export interface Recent {
  add(message: Named): void;
  has(message: Named): boolean;
  clear(): void;
}

interface Trace {
  readonly topic: string;
  readonly bytes: number;
  readonly crc: number;
}

/**
 * The broker has at most `receiveMaximum` messages open and we acknowledge in its order: what it may send again on
 * the next connection is among the last that many.
 */
export function createRecent(): Recent {
  const traces = new Map<number, Trace>();
  const traceOf = ({ topic, payload }: Named): Trace => ({
    topic,
    bytes: payload.length,
    crc: crc32c(payload),
  });
  return {
    add: (message) => {
      traces.delete(message.messageID);
      traces.set(message.messageID, traceOf(message));
      if (traces.size <= receiveMaximum) return;
      const oldest = traces.keys().next().value;
      if (oldest !== undefined) traces.delete(oldest);
    },
    has: (message) => {
      const known = traces.get(message.messageID);
      if (known === undefined) return false;
      const { topic, bytes, crc } = traceOf(message);
      return known.topic === topic && known.bytes === bytes && known.crc === crc;
    },
    clear: () => traces.clear(),
  };
}

/** The run before this one: its last journal id, and when it ended at the latest, microseconds since 1970. */
export interface EarlierRun {
  readonly lastID: number;
  readonly endedAt: number;
}

const windowMicros = 60e6;
const recordsMax = 10_000;

/**
 * What an earlier run had taken of a device through the broker and may not have acknowledged: at most its last
 * `receiveMaximum` messages, received in its last 60 s. Of an id the latest counts.
 */
export async function takenByEarlierRun(
  history: DeviceHistory,
  device: number,
  session: number,
  { lastID, endedAt }: EarlierRun,
): Promise<Taken> {
  const taken = new Set<string>();
  const seen = new Set<number>();
  for await (const record of history(device, recordsMax)) {
    if (record.id > lastID || record.session !== session || record.connection !== 0) continue;
    if (endedAt - record.receivedAt > windowMicros || seen.size >= receiveMaximum) return taken;
    if (record.kind !== recordKinds.uplink || record.qos !== 1) continue;
    if (!seen.has(record.messageID)) taken.add(messageKey(record));
    seen.add(record.messageID);
  }
  return taken;
}
