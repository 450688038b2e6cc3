import { isTopicName } from "../../messages/topics.js";

/** Each device has one branch of the broker's topics: `devices/{deviceID}/up/{topic}` and `…/down/{topic}`. */

/** What a single process subscribes to: a broker that forgets shared subscriptions at a restart keeps this one. */
export const ownFilter = "devices/+/up/#";

/** What all processes of a deployment subscribe to together (MQTT 5.0 §4.8.2). */
export const sharedFilter = `$share/tidemark/${ownFilter}`;

export interface UplinkTopic {
  readonly deviceID: string;
  /** As the device would name it in its own space. */
  readonly topic: string;
}

const root = "devices/";
const upward = "/up/";

/** Null if the topic is not a device's: the device's own part of it is missing, or is not a topic name. */
export function readUplinkTopic(text: string): UplinkTopic | null {
  if (!text.startsWith(root)) return null;
  const end = text.indexOf("/", root.length);
  if (end <= root.length || !text.startsWith(upward, end)) return null;
  const topic = text.slice(end + upward.length);
  return isTopicName(topic) ? { deviceID: text.slice(root.length, end), topic } : null;
}

export function downlinkTopic(deviceID: string, topic: string): string {
  return `${root}${deviceID}/down/${topic}`;
}

/** The prefixes below which the device publishes and listens; its own topics follow them. */
export function topicBranches(deviceID: string): { readonly up: string; readonly down: string } {
  return { up: `${root}${deviceID}${upward}`, down: downlinkTopic(deviceID, "") };
}
