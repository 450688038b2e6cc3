import type { MqttSubscription } from "../../store/journal/message.js";
import { createFilterTrie, type FilterTrie } from "../messages/filter-trie.js";
import { createTopicMemory, type RememberedTopics } from "./remembered-topics.js";

/** What all of a client's subscriptions that cover a topic grant together. */
export interface Grant {
  /** The highest of theirs [MQTT-3.3.4-2]. */
  readonly qos: 0 | 1 | 2;
  readonly retainAsPublished: boolean;
  /** Identifiers of all of them, ascending. */
  readonly identifiers: readonly number[];
}

/** A client's subscriptions by topic filter, in the order in which they came. */
export interface Subscriptions extends ReadonlyMap<string, MqttSubscription> {
  /** `ofOwn`: the client itself has published it (No Local, [MQTT-3.8.3-3]). Null: none covers the topic. */
  grant(topic: string, ofOwn: boolean): Grant | null;
  /** UTF-16 units of all filters. */
  readonly filtersLength: number;
  /** Characters that `grant` compares at most: 1 if it remembers the topic. */
  costOf(topic: string): number;
}

export const noSubscriptions: Subscriptions = Object.assign(new Map<string, MqttSubscription>(), {
  grant: () => null,
  filtersLength: 0,
  costOf: () => 0,
});

/** The subscriptions to write to: those that were there, unless they are the empty ones that all share. */
export function ownSubscriptions(held: Subscriptions): SubscriptionMap {
  return held === noSubscriptions ? new SubscriptionMap() : (held as SubscriptionMap);
}

export function createSubscriptions(all: Iterable<readonly [string, MqttSubscription]>): Subscriptions {
  const made = new SubscriptionMap();
  for (const [filter, subscription] of all) made.set(filter, subscription);
  return made.size === 0 ? noSubscriptions : made;
}

/** Fewer than these are compared as quickly as a remembered topic is found. */
const rememberedFrom = 8;
const memory = createTopicMemory<Remembered>();
/** Bytes that an identifier takes in both grants. */
const identifierBytes = 16;

interface Remembered {
  readonly any: Grant | null;
  /** Undefined until it is asked for. */
  ofOwn: Grant | null | undefined;
}

class SubscriptionMap extends Map<string, MqttSubscription> implements Subscriptions {
  /** Made when the first message comes: many clients only publish. */
  #trie: FilterTrie<MqttSubscription> | null = null;
  #remembered: RememberedTopics<Remembered> | null = null;
  #length = 0;

  get filtersLength(): number {
    return this.#length;
  }

  override set(filter: string, subscription: MqttSubscription): this {
    if (!this.has(filter)) this.#length += filter.length;
    this.#trie?.set(filter, subscription);
    this.#remembered?.forget();
    return super.set(filter, subscription);
  }

  override delete(filter: string): boolean {
    if (!super.delete(filter)) return false;
    this.#length -= filter.length;
    this.#trie?.delete(filter);
    this.#remembered?.forget();
    return true;
  }

  costOf(topic: string): number {
    return this.#remembered?.has(topic) === true ? 1 : this.#length;
  }

  grant(topic: string, ofOwn: boolean): Grant | null {
    if (this.size < rememberedFrom) return this.#find(topic, ofOwn);
    this.#remembered ??= memory.begin();
    let known = this.#remembered.get(topic);
    if (known === undefined) {
      known = { any: this.#find(topic, false), ofOwn: undefined };
      this.#remembered.set(topic, known, identifierBytes * (known.any?.identifiers.length ?? 0));
    }
    if (!ofOwn || known.any === null) return known.any;
    if (known.ofOwn === undefined) known.ofOwn = this.#find(topic, true);
    return known.ofOwn;
  }

  #find(topic: string, ofOwn: boolean): Grant | null {
    if (this.#trie === null) {
      this.#trie = createFilterTrie();
      for (const [filter, subscription] of this) this.#trie.set(filter, subscription);
    }
    return mergeGrant(this.#trie.covering(topic), ofOwn);
  }
}

function mergeGrant(covering: readonly MqttSubscription[], ofOwn: boolean): Grant | null {
  let qos = -1;
  let retainAsPublished = false;
  let identifiers: number[] | null = null;
  for (const subscription of covering) {
    if (ofOwn && subscription.noLocal) continue;
    if (subscription.qos > qos) qos = subscription.qos;
    if (subscription.retainAsPublished) retainAsPublished = true;
    if (subscription.identifier !== null) {
      identifiers ??= [];
      identifiers.push(subscription.identifier);
    }
  }
  if (qos < 0) return null;
  // The walk finds them in the order in which the trie has grown, which a restart does not repeat.
  identifiers?.sort((a, b) => a - b);
  return { qos: qos as 0 | 1 | 2, retainAsPublished, identifiers: identifiers ?? noIdentifiers };
}

const noIdentifiers: readonly number[] = [];
