import type { Subscription } from "../../message.js";
import { inboxAlias, inboxTopic, isSharedFilter, isTopicFilter } from "../../topics.js";
import type { SubscribePacket } from "./packets.js";
import { code } from "./reasons.js";

export const subscriptionsMax = 1000;
/** Of all topic filters of one session together, in UTF-16 units. */
export const filtersLengthMax = 256 * 1024;

/** Who may read what: called for every filter of SUBSCRIBE. */
export type FilterCheck = (filter: string) => boolean;

/** The subscriptions of one session by topic filter, within their bounds. */
export interface Subscribing {
  /** Reason codes in the order of the filters; what is granted stands in `subscriptions` from now on. */
  subscribe(packet: SubscribePacket): number[];
  unsubscribe(filters: readonly string[]): number[];
}

export function createSubscribing(
  subscriptions: Map<string, Subscription>,
  refuses: FilterCheck,
): Subscribing {
  let length = 0;
  for (const filter of subscriptions.keys()) length += filter.length;

  function subscribeOne(filter: string, options: Subscription): number {
    if (isSharedFilter(filter)) return code.sharedSubscriptions;
    if (!isTopicFilter(filter)) return code.topicFilter;
    if (refuses(filter)) return code.notAuthorized;
    if (!subscriptions.has(filter)) {
      const full = subscriptions.size >= subscriptionsMax || length + filter.length > filtersLengthMax;
      if (full) return code.quota;
      length += filter.length;
    }
    subscriptions.set(filter, options);
    return options.qos;
  }

  return {
    subscribe: ({ filters }) => filters.map(({ filter, options }) => subscribeOne(filter, options)),
    unsubscribe: (filters) =>
      filters.map((filter) => {
        if (!subscriptions.delete(filter)) return code.noSubscriptionExisted;
        length -= filter.length;
        return code.success;
      }),
  };
}

/** Whether the filter is a name of the device's inbox: whoever names it takes over the subscription to it. */
export function isInbox(filter: string, deviceID: string): boolean {
  return filter === inboxTopic || filter === inboxAlias(deviceID);
}
