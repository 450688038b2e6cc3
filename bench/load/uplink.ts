import type { UplinkRecord } from "../../store/journal/record.js";
import { recordKinds } from "../../store/journal/record-kinds.js";

/** A message as the journal takes it. */
export function createUplink(payload: Uint8Array, topic = "telemetry"): UplinkRecord {
  return {
    kind: recordKinds.uplink,
    tenant: 1,
    device: 1,
    connection: 1,
    session: 1,
    messageID: 1,
    qos: 1,
    dup: false,
    retain: false,
    refused: false,
    details: null,
    ip: "127.0.0.1",
    topic,
    payload,
  };
}
