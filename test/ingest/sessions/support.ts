import { countOwnBytes, ownBytesFree } from "../../../ingest/sessions/held-bytes.js";
import type { SessionRegistry } from "../../../ingest/sessions/session-registry.js";
import { weightOfMessage, weightOfWill } from "../../../ingest/sessions/weights.js";
import type { MqttSubscription } from "../../../store/journal/message.js";

/** A subscription as MQTT 3.1.1 makes it. */
export function subscription(fields: Partial<MqttSubscription> = {}): MqttSubscription {
  return { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0, identifier: null, ...fields };
}

/** What is held for a tenant's clients, added up from what is there. */
export function heldIn(registry: Pick<SessionRegistry, "all">, ofTenant: number): number {
  let bytes = 0;
  for (const { tenant, sessions, retained, wills } of registry.all()) {
    if (tenant !== ofTenant) continue;
    for (const [topic, message] of retained) bytes += weightOfMessage({ topic, ...message });
    for (const { will } of wills) bytes += weightOfWill(will);
    for (const state of sessions.values()) {
      for (const message of state.outgoing.values()) bytes += weightOfMessage(message);
      bytes += Math.max(0, countOwnBytes(state) - ownBytesFree);
    }
  }
  return bytes;
}
