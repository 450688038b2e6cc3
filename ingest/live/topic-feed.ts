/** Logs of topics and those who read them, within the bounds that tenants share. */
import { randomBytes } from "node:crypto";
import { createLiveListeners, type LiveSubscription } from "./listeners.js";
import type { Numbered } from "./log.js";
import { createLiveMemory } from "./memory.js";
import { createTopics, type LiveDevice, type Topic } from "./topics.js";

/** The number of listeners, and the bytes held for them. */
export interface LiveCounts {
  readonly listeners: number;
  /** Events that wait for their listeners. */
  readonly queued: number;
  /** Held for all of them, and on their way to them. */
  readonly bytes: number;
  /** Listeners dropped since the start, because they fell behind. */
  readonly letGo: number;
}

export interface TopicFeedOptions {
  readonly listenersMax: number;
  readonly listenersOfTenantMax: number;
  /**
   * The most bytes of events held for a topic that has listeners. A listener that falls further behind is dropped, and
   * may reconnect.
   */
  readonly topicBytesMax: number;
  /** Events held of all topics together, a share for each tenant, with what is on its way to listeners. */
  readonly bytesMax: number;
  /** How long a topic's events are held after its last listener has left. */
  readonly heldMs: number;
}

interface TopicFeed<Event extends Numbered> {
  /** Names this run: event numbers of another mean nothing. */
  readonly run: string;
  /** The number of the newest event. */
  readonly newest: number;
  /** Topics that somebody listens to, or has lately. */
  readonly size: number;
  /** Whether anybody's topic of this deviceID is listened to: the first look at each event. */
  has(deviceID: string): boolean;
  find(device: LiveDevice): Topic<Event> | undefined;
  all(): Iterable<Topic<Event>>;
  /** Appends the event that `make` makes of its number; returns its bytes, 0 if the budget is used up. */
  append(topic: Topic<Event>, make: (number: number) => Event): number;
  /** The next event is not held: listeners that wait for it have fallen behind. */
  skip(topic: Topic<Event>): void;
  /** After events have been appended. */
  wake(topic: Topic<Event>): void;
  /** `after` is the number of the last event seen in this run. Null when there are too many listeners. */
  subscribe(device: LiveDevice, after: number | null): LiveSubscription<Event> | null;
  counts(): LiveCounts;
  /** Ends every subscription. */
  close(): void;
}

/** @param onForgotten called for topics that have had no listener for `heldMs` */
export function createTopicFeed<Event extends Numbered>(
  options: TopicFeedOptions,
  onForgotten: (device: LiveDevice) => void = () => undefined,
): TopicFeed<Event> {
  const topics = createTopics<Event>();
  const memory = createLiveMemory<Event>(options.bytesMax, topics.partOf, (topic) =>
    listeners.dropBehind(topic),
  );
  const listeners = createLiveListeners<Event>({
    take: memory.take,
    give: memory.give,
    onDeserted: (topic) => {
      topic.expiry = setTimeout(forget, options.heldMs, topic).unref();
    },
  });
  let newest = 0;
  let isClosed = false;

  function forget(topic: Topic<Event>): void {
    memory.shrink(topic, 0);
    topics.remove(topic);
    onForgotten(topic.device);
  }

  return {
    run: randomBytes(6).toString("base64url"),
    get newest() {
      return newest;
    },
    get size() {
      return topics.size;
    },
    has: topics.has,
    find: topics.find,
    all: topics.all,
    append: (topic, make) => {
      const event = make(++newest);
      if (!memory.append(topic, event)) return 0;
      // An eighth at a time, so that dropping costs little per event.
      const { topicBytesMax } = options;
      if (topic.log.bytes > topicBytesMax) memory.shrink(topic, topicBytesMax * (7 / 8));
      return event.bytes;
    },
    skip: (topic) => memory.skip(topic, ++newest),
    wake: ({ listeners }) => {
      for (const listener of listeners) listener.wake();
    },
    subscribe: (device, after) => {
      const own = topics.partOf(device.tenant)?.listeners ?? 0;
      const { listenersMax, listenersOfTenantMax } = options;
      if (isClosed || listeners.count >= listenersMax || own >= listenersOfTenantMax) return null;
      const topic = topics.open(device, newest);
      clearTimeout(topic.expiry);
      return listeners.add(topic, after === null || after > newest ? null : topic.log.positionAfter(after));
    },
    counts: () => {
      let queued = 0;
      for (const { listeners: own, log } of topics.all())
        for (const { position } of own) queued += log.end - position;
      return { listeners: listeners.count, queued, bytes: memory.total, letGo: listeners.letGo };
    },
    close: () => {
      isClosed = true;
      for (const topic of topics.all()) {
        listeners.closeAll(topic);
        clearTimeout(topic.expiry);
        forget(topic);
      }
    },
  };
}
