/** The live feed: hands stored points to those who listen to the device. */
import { randomBytes } from "node:crypto";
import type { Point } from "../../store/series/series.js";
import { createListeners, type LiveSubscription } from "./listeners.js";
import { bytesOfEvent, liveEvent } from "./log.js";
import { createLiveMemory } from "./memory.js";
import { createTopics, type LiveDevice, type Topic } from "./topics.js";

export interface LiveFeed {
  /** Names this run: event numbers of another mean nothing. */
  readonly run: string;
  publish(points: readonly Point[]): void;
  /** `after` is the number of the last event seen in this run. Null when there are too many listeners. */
  subscribe(device: LiveDevice, after: number | null): LiveSubscription | null;
  counts(): LiveCounts;
  /** Ends every subscription. */
  close(): void;
}

interface LiveCounts {
  readonly listeners: number;
  /** Events that wait for their listeners. */
  readonly queued: number;
  /** Held for all of them, and on their way to them. */
  readonly bytes: number;
  /** Listeners let go since the start, because they fell behind. */
  readonly letGo: number;
}

export interface LiveOptions {
  readonly listenersMax: number;
  readonly listenersOfTenantMax: number;
  /** Events held of a device that somebody listens to: whoever falls behind them is let go, and may come back. */
  readonly deviceBytesMax: number;
  /** Events held of all devices together, a share for each tenant, with what is on its way to listeners. */
  readonly bytesMax: number;
  /** How long a device's events are held after its last listener has left. */
  readonly heldMs: number;
}

export const liveDefaults: LiveOptions = {
  listenersMax: 1_000,
  listenersOfTenantMax: 250,
  deviceBytesMax: 1 << 20,
  bytesMax: 64 << 20,
  heldMs: 60_000,
};

export function createLiveFeed(options: LiveOptions = liveDefaults): LiveFeed {
  const topics = createTopics();
  const memory = createLiveMemory(options.bytesMax, topics.partOf, (topic) => listeners.dropBehind(topic));
  const listeners = createListeners({
    take: memory.take,
    give: memory.give,
    onDeserted: (topic) => {
      topic.expiry = setTimeout(forget, options.heldMs, topic).unref();
    },
  });
  /** The number of the newest event. */
  let newest = 0;
  let isClosed = false;

  function forget(topic: Topic): void {
    memory.shrink(topic, 0);
    topics.remove(topic);
  }

  /** Returns the event's bytes; 0 if there is no room for it. */
  function publishTo(topic: Topic, point: Point): number {
    const event = liveEvent(++newest, point.series.field, point);
    if (!memory.append(topic, event)) return 0;
    // An eighth at a time, so that dropping costs little per point.
    const { deviceBytesMax } = options;
    if (topic.log.bytes > deviceBytesMax) memory.shrink(topic, deviceBytesMax * (7 / 8));
    return bytesOfEvent(event);
  }

  return {
    run: randomBytes(6).toString("base64url"),
    publish: (points) => {
      if (topics.size === 0) return;
      const told = new Map<Topic, number>();
      for (const point of points) {
        if (!topics.has(point.series.deviceID)) continue;
        const topic = topics.find(point.series);
        if (topic === undefined) continue;
        const bytes = told.get(topic) ?? 0;
        if (bytes <= options.deviceBytesMax) told.set(topic, bytes + publishTo(topic, point));
        // More at once than a device may hold: all have fallen behind, and encoding the rest would be in vain.
        else memory.skip(topic, ++newest);
      }
      for (const topic of told.keys()) for (const listener of topic.listeners) listener.wake();
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
