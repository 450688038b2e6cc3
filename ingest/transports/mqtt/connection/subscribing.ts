import { isSharedFilter, isTopicFilter, isWithinBytes, type TopicBounds } from "../../../messages/topics.js";
import { subscriptionsMax } from "../../../sessions/bounds.js";
import { isDeviceInbox } from "../../../sessions/routing.js";
import type { SessionState } from "../../../sessions/state.js";
import type { Filters } from "../../../sessions/subscription-records.js";
import { weightOfFilter } from "../../../sessions/weights.js";
import type { SubscribePacket } from "../codec/packets.js";
import { failureCode, mqttReasonCode } from "../codec/reasons.js";

/** Longest total length of all topic filters of one session, in UTF-16 units. */
const filtersLengthMax = 256 * 1024;

type Subscribed = Pick<SessionState, "subscriptions" | "hasInbox">;

/** Reason codes in the order of the filters, and what of them is granted. */
interface Judged {
  readonly codes: number[];
  readonly granted: Filters;
}

/** The rules that a filter has to pass. */
interface SubscribeRules {
  /** Whether a policy refuses the filter. */
  readonly refuses: (filter: string) => boolean;
  /** Whether so many bytes more may be held for the session. */
  readonly hasRoom: (bytes: number) => boolean;
  readonly topics: TopicBounds;
}

/**
 * A filter that occurs twice counts once, as its last [MQTT-3.8.4-3]. `granting`: what earlier packets were granted
 * that is on its way to the disk.
 */
export function judge(
  { subscriptions }: Subscribed,
  { filters }: SubscribePacket,
  { refuses, hasRoom, topics }: SubscribeRules,
  granting: ReadonlySet<string>,
): Judged {
  const granted = new Map<string, Filters[number][1]>();
  let { size, filtersLength: length } = subscriptions;
  let grown = 0;
  for (const filter of granting) {
    if (subscriptions.has(filter)) continue;
    size++;
    length += filter.length;
  }

  const codes = filters.map(({ filter, options }) => {
    if (isSharedFilter(filter)) return mqttReasonCode.sharedSubscriptions;
    if (!isTopicFilter(filter) || !isWithinBytes(filter, topics)) return mqttReasonCode.topicFilter;
    if (refuses(filter)) return mqttReasonCode.notAuthorized;
    if (!subscriptions.has(filter) && !granting.has(filter) && !granted.has(filter)) {
      if (size >= subscriptionsMax || length + filter.length > filtersLengthMax) return mqttReasonCode.quota;
      const bytes = grown + weightOfFilter(filter);
      if (!hasRoom(bytes)) return mqttReasonCode.quota;
      grown = bytes;
      size++;
      length += filter.length;
    }
    granted.set(filter, options);
    return options.qos;
  });
  return { codes, granted: [...granted] };
}

/** Reason codes of UNSUBSCRIBE, in the order of its filters. */
export function unsubscribeCodes(
  state: Subscribed,
  deviceID: string,
  filters: readonly string[],
  granting: ReadonlySet<string>,
): number[] {
  const ended = new Set<string>();
  let hasInbox = state.hasInbox;
  return filters.map((filter) => {
    const endsInbox = hasInbox && isDeviceInbox(deviceID, filter);
    const isThere = state.subscriptions.has(filter) || granting.has(filter);
    const existed = endsInbox || (isThere && !ended.has(filter));
    ended.add(filter);
    if (endsInbox) hasInbox = false;
    return existed ? mqttReasonCode.success : mqttReasonCode.noSubscriptionExisted;
  });
}

const words: Readonly<Record<number, string>> = {
  [mqttReasonCode.sharedSubscriptions]: "shared subscriptions are not offered",
  [mqttReasonCode.topicFilter]: "a topic filter is malformed, or has too many bytes or levels",
  [mqttReasonCode.notAuthorized]: "the device may not read what a topic filter covers",
  [mqttReasonCode.quota]: "the session has too many subscriptions, or its tenant too much that is held",
};

/** The first refusal among the codes in words, or an empty text. */
export function refusal(codes: readonly number[]): string {
  return words[codes.find((one) => one >= failureCode) ?? mqttReasonCode.success] ?? "";
}
