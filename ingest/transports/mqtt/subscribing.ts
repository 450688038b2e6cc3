import type { Subscription } from "../../message.js";
import { inboxAlias, inboxTopic, isSharedFilter, isTopicFilter } from "../../topics.js";
import type { SubscribePacket } from "./packets.js";
import { code, failure } from "./reasons.js";

export const subscriptionsMax = 1000;
/** Of all topic filters of one session together, in UTF-16 units. */
export const filtersLengthMax = 256 * 1024;

/** Who may read what: called for every filter of SUBSCRIBE. */
export type FilterCheck = (filter: string) => boolean;

/** The subscriptions of one session by topic filter, within their bounds. */
export interface Subscribing {
  /** Whether the subscription to the inbox that every session begins with still stands. */
  readonly hasInbox: boolean;
  /** Reason codes in the order of the filters; what is granted stands in `subscriptions` from now on. */
  subscribe(packet: SubscribePacket): number[];
  unsubscribe(filters: readonly string[]): number[];
}

export function createSubscribing(
  subscriptions: Map<string, Subscription>,
  deviceID: string,
  refuses: FilterCheck,
): Subscribing {
  let hasInbox = true;
  let length = 0;
  for (const filter of subscriptions.keys()) length += filter.length;

  function subscribe(filter: string, options: Subscription): number {
    if (isSharedFilter(filter)) return code.sharedSubscriptions;
    if (!isTopicFilter(filter)) return code.topicFilter;
    if (refuses(filter)) return code.notAuthorized;
    if (!subscriptions.has(filter)) {
      const full = subscriptions.size >= subscriptionsMax || length + filter.length > filtersLengthMax;
      if (full) return code.quota;
      length += filter.length;
    }
    subscriptions.set(filter, options);
    // Whoever names the inbox takes over the subscription to it.
    if (isInbox(filter)) hasInbox = false;
    return options.qos;
  }

  function unsubscribe(filter: string): number {
    const existed = subscriptions.delete(filter);
    if (existed) length -= filter.length;
    const endsInbox = hasInbox && isInbox(filter);
    if (endsInbox) hasInbox = false;
    return existed || endsInbox ? code.success : code.noSubscriptionExisted;
  }

  const isInbox = (filter: string): boolean => filter === inboxTopic || filter === inboxAlias(deviceID);

  return {
    get hasInbox() {
      return hasInbox;
    },
    subscribe: ({ filters }) => filters.map(({ filter, options }) => subscribe(filter, options)),
    unsubscribe: (filters) => filters.map(unsubscribe),
  };
}

const words: Readonly<Record<number, string>> = {
  [code.sharedSubscriptions]: "shared subscriptions are not offered",
  [code.topicFilter]: "a topic filter is malformed",
  [code.notAuthorized]: "the device may not read what a topic filter covers",
  [code.quota]: "the session has too many subscriptions",
};

/** The first refusal among the codes in words, or an empty text. */
export function refusal(codes: readonly number[]): string {
  return words[codes.find((one) => one >= failure) ?? code.success] ?? "";
}
