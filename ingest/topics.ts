/** Topic names and filters, MQTT 3.1.1 §4.7. */

export const topicBytesMax = 65_535;

/** A topic that a message may be published to [MQTT-3.3.2-2], [MQTT-4.7.3-1], [MQTT-4.7.3-2]. */
export function isTopicName(topic: string): boolean {
  return topic.length > 0 && !/[+#\0]/.test(topic) && topic.isWellFormed();
}

/** [MQTT-4.7.1-2], [MQTT-4.7.1-3]; a shared subscription is not offered: the space has one owner. */
export function isTopicFilter(filter: string): boolean {
  if (filter.length === 0 || filter.includes("\0") || filter.startsWith("$share/")) return false;
  const levels = filter.split("/");
  return levels.every(
    (level, i) =>
      level === "+" ||
      (level === "#" && i === levels.length - 1) ||
      (!level.includes("+") && !level.includes("#")),
  );
}

/** Where a device's commands come: every session is subscribed to it from its CONNECT. */
export const inboxTopic = "inbox";
export const inboxQos = 1;

/** The other name of a device's inbox. */
export function inboxAlias(deviceID: string): string {
  return `/devices/${deviceID}/inbox`;
}

/** Where a group's members get what needs no receipt; the membership is the subscription. */
export function groupInbox(groupID: string): string {
  return `/groups/${groupID}/inbox`;
}

/** False for every topic that is no device's inbox; costs no allocation. */
export function looksLikeInbox(topic: string): boolean {
  return topic === inboxTopic || (topic.startsWith("/devices/") && topic.endsWith("/inbox"));
}

/** Whether a filter covers a topic; a leading wildcard does not cover `$…` [MQTT-4.7.2-1]. */
export function covers(filter: string, topic: string): boolean {
  if (filter === topic) return true;
  if (topic.startsWith("$") && (filter.startsWith("#") || filter.startsWith("+"))) return false;
  const wanted = filter.split("/");
  const actual = topic.split("/");
  for (const [i, level] of wanted.entries()) {
    if (level === "#") return true;
    if (i >= actual.length || (level !== "+" && level !== actual[i])) return false;
  }
  return wanted.length === actual.length;
}
