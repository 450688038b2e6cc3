import { isUtf8 } from "node:buffer";
import type { JournalRecord } from "../../store/journal-record.js";
import type { Stamp } from "./time.js";

/** The text where it is valid UTF-8 without NUL, else `base64:` and base64. */
export function payloadText(payload: Uint8Array): string {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString("utf8") : `base64:${bytes.toString("base64")}`;
}

export interface DeviceNames {
  readonly deviceID: string;
  readonly deviceName: string;
}

export function eventListed(record: JournalRecord, names: DeviceNames | undefined, stamp: Stamp) {
  const at = stamp(Math.floor(record.receivedAt / 1000));
  return {
    id: record.id,
    deviceID: names?.deviceID ?? null,
    deviceName: names?.deviceName ?? null,
    IP: record.ip,
    topic: record.topic,
    payload: payloadText(record.payload),
    msgTime: at,
    createAt: at,
    updateAt: null,
  };
}
