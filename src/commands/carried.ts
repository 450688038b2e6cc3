import { inboxTopic } from "../../ingest/messages/topics.js";

/** A message to a device as what carries it gets it, in its own inbox. */
export function carriedMessage(
  deviceID: string,
  { topic, payload }: { readonly topic: string; readonly payload: Uint8Array },
): { readonly topic: string; readonly payload: Uint8Array } {
  const text = Buffer.from(payload).toString("utf8");
  return {
    topic: inboxTopic,
    payload: Buffer.from(JSON.stringify({ DeviceID: deviceID, topic, payload: text })),
  };
}
