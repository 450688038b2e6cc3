/** Topic names and filters, MQTT 3.1.1 §4.7. */

/** What the length field of MQTT holds, bytes. */
export const topicBytesLimit = 65_535;

/** How long topics and filters may be; longer ones cost more than they are worth. */
export interface TopicBounds {
  /** Counts bytes of UTF-8. */
  readonly bytesMax: number;
  readonly levelsMax: number;
}

/** For most topics this costs only a look at the length. */
export function isWithinBytes(topic: string, { bytesMax, levelsMax }: TopicBounds): boolean {
  if (topic.length * 3 > bytesMax && Buffer.byteLength(topic) > bytesMax) return false;
  if (topic.length < levelsMax) return true;
  let levels = 1;
  for (let at = topic.indexOf("/"); at >= 0; at = topic.indexOf("/", at + 1)) levels++;
  return levels <= levelsMax;
}

/** A topic that a message may be published to [MQTT-3.3.2-2], [MQTT-4.7.3-1], [MQTT-4.7.3-2]. */
export function isTopicName(topic: string): boolean {
  return topic.length > 0 && !/[+#\0]/.test(topic) && topic.isWellFormed();
}

/** A shared subscription (MQTT 5.0 §4.8.2) is not offered: the space has one owner. */
export function isSharedFilter(filter: string): boolean {
  return filter.startsWith("$share/");
}

/** [MQTT-4.7.1-2], [MQTT-4.7.1-3]. */
export function isTopicFilter(filter: string): boolean {
  if (filter.length === 0 || filter.includes("\0") || isSharedFilter(filter)) return false;
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

/** Where a group's members get messages that need no receipt; the membership is the subscription. */
export function groupInbox(groupID: string): string {
  return `/groups/${groupID}/inbox`;
}

/** False for every topic that is not a device's inbox; allocates nothing. */
export function looksLikeInbox(topic: string): boolean {
  return topic === inboxTopic || (topic.startsWith("/devices/") && topic.endsWith("/inbox"));
}

const [hash, plus, slash, dollar] = [0x23, 0x2b, 0x2f, 0x24];

/**
 * Whether a filter covers a topic; a leading wildcard does not cover `$…` [MQTT-4.7.2-1]. One walk over both,
 * without allocation: filters and topics may have a thousand levels.
 */
export function covers(filter: string, topic: string): boolean {
  if (filter === topic) return true;
  const first = filter.charCodeAt(0);
  if (topic.charCodeAt(0) === dollar && (first === hash || first === plus)) return false;
  let f = 0;
  for (let t = 0; ; f++, t++) {
    // Both stand at the beginning of a level.
    const wanted = filter.charCodeAt(f);
    if (wanted === hash) return true;
    if (wanted === plus) {
      f++;
      t = levelEnd(topic, t);
    } else {
      const end = levelEnd(topic, t);
      for (; t < end; f++, t++) if (filter.charCodeAt(f) !== topic.charCodeAt(t)) return false;
      if (f < filter.length && filter.charCodeAt(f) !== slash) return false;
    }
    if (f === filter.length) return t === topic.length;
    // The rest of the filter may be "/#", which covers its parent too.
    if (t === topic.length) return f === filter.length - 2 && filter.charCodeAt(f + 1) === hash;
  }
}

function levelEnd(topic: string, from: number): number {
  const at = topic.indexOf("/", from);
  return at < 0 ? topic.length : at;
}
