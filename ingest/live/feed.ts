/** The live feed: hands stored points to those who listen to the device. */
import type { Point } from "../../store/series/series.js";
import type { LiveSubscription } from "./listeners.js";
import { type LiveEvent, liveEvent } from "./log.js";
import { createTopicFeed, type LiveCounts, type TopicFeedOptions } from "./topic-feed.js";
import type { LiveDevice, Topic } from "./topics.js";

export interface LiveFeed {
  /** Names this run: event numbers of another mean nothing. */
  readonly run: string;
  publish(points: readonly Point[]): void;
  /** `after` is the number of the last event seen in this run. Null when there are too many listeners. */
  subscribe(device: LiveDevice, after: number | null): LiveSubscription<LiveEvent> | null;
  counts(): LiveCounts;
  /** Ends every subscription. */
  close(): void;
}

export interface LiveOptions extends Omit<TopicFeedOptions, "topicBytesMax"> {
  /**
   * The most bytes of events held for a device that has listeners. A listener that falls further behind is dropped, and
   * may reconnect.
   */
  readonly deviceBytesMax: number;
}

export const liveDefaults: LiveOptions = {
  listenersMax: 1_000,
  listenersOfTenantMax: 250,
  deviceBytesMax: 1 << 20,
  bytesMax: 64 << 20,
  heldMs: 60_000,
};

export function createLiveFeed(options: LiveOptions = liveDefaults): LiveFeed {
  const { deviceBytesMax } = options;
  const feed = createTopicFeed<LiveEvent>({ ...options, topicBytesMax: deviceBytesMax });
  return {
    run: feed.run,
    publish: (points) => {
      if (feed.size === 0) return;
      const told = new Map<Topic<LiveEvent>, number>();
      for (const point of points) {
        if (!feed.has(point.series.deviceID)) continue;
        const topic = feed.find(point.series);
        if (topic === undefined) continue;
        const bytes = told.get(topic) ?? 0;
        // More at once than a device may hold: all have fallen behind, and encoding the rest would be in vain.
        if (bytes > deviceBytesMax) feed.skip(topic);
        else
          told.set(
            topic,
            bytes + feed.append(topic, (number) => liveEvent(number, point.series.field, point)),
          );
      }
      for (const topic of told.keys()) feed.wake(topic);
    },
    subscribe: feed.subscribe,
    counts: feed.counts,
    close: feed.close,
  };
}
