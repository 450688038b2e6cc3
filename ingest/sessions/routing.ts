import { inboxAlias, inboxQos, inboxTopic, looksLikeInbox } from "../messages/topics.js";
import type { SessionState } from "./state.js";
import type { Grant } from "./subscriptions.js";

/** How a message on a topic reaches a client: at most at this QoS. */
interface Route extends Grant {
  /** The name under which the client gets it. */
  readonly topic: string;
}

type Reader = Pick<SessionState, "subscriptions" | "hasInbox">;

/**
 * One copy of a message for all of a client's subscriptions that cover its topic, at the highest of their QoS
 * [MQTT-3.3.4-2], or null. `ofOwn`: the client itself published it (No Local, [MQTT-3.8.3-3]).
 */
export function routeTo(reader: Reader, deviceID: string, topic: string, ofOwn = false): Route | null {
  if (!looksLikeInbox(topic) || !isDeviceInbox(deviceID, topic)) return covered(reader, topic, ofOwn);
  // The inbox has two names, and a subscription of its own.
  const alias = inboxAlias(deviceID);
  const named = covered(reader, inboxTopic, ofOwn);
  const aliased = covered(reader, alias, ofOwn);
  const route = named === null && aliased !== null ? aliased : (named ?? inbox);
  if (route === inbox && !reader.hasInbox) return null;
  const qos = Math.max(named?.qos ?? 0, aliased?.qos ?? 0, reader.hasInbox ? inboxQos : 0) as 0 | 1 | 2;
  return { ...route, qos };
}

const inbox: Route = { topic: inboxTopic, qos: inboxQos, retainAsPublished: false, identifiers: [] };

/** Whether a filter names the inbox: then it takes the place of the subscription that each session begins with. */
export function isDeviceInbox(deviceID: string, filter: string): boolean {
  return filter === inboxTopic || filter === inboxAlias(deviceID);
}

function covered({ subscriptions }: Reader, topic: string, ofOwn: boolean): Route | null {
  const grant = subscriptions.grant(topic, ofOwn);
  return grant === null ? null : { topic, ...grant };
}
