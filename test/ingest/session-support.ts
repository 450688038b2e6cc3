import type { Subscription } from "../../ingest/message.js";

/** A subscription as MQTT 3.1.1 makes it. */
export function subscription(fields: Partial<Subscription> = {}): Subscription {
  return { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0, identifier: null, ...fields };
}
