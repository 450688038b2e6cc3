import { randomBytes } from "node:crypto";
import type { Point } from "../store/series.js";

/** A point that has been stored. */
export interface LiveEvent {
  /** Ascends over the events of a run. */
  readonly number: number;
  readonly field: string;
  /** Microseconds since 1970. */
  readonly time: number;
  readonly value: number | boolean | string;
}

export interface LiveDevice {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string;
}

/** What one listener has not taken yet. */
export interface LiveSubscription {
  /** Those it missed since the event it saw last; null where they are no longer known. */
  readonly missed: readonly LiveEvent[] | null;
  /** The oldest events that wait, at most so many. */
  take(most: number): readonly LiveEvent[];
  /** False once it has fallen behind by more than its queue holds, or is closed: nothing more will come. */
  readonly open: boolean;
  /** Resolves with true when there is something to take or nothing more will come, with false after `mostMs`. */
  wait(mostMs: number): Promise<boolean>;
  close(): void;
}

/** Hands stored points to those who listen to their device. */
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

export interface LiveCounts {
  readonly listeners: number;
  /** Events that wait for their listeners. */
  readonly queued: number;
  /** Listeners let go since the start, because they fell behind. */
  readonly letGo: number;
}

export interface LiveOptions {
  readonly listenersMax: number;
  readonly listenersOfTenantMax: number;
  /** Of one listener; with more it is let go, and may come back for what it missed. */
  readonly queueEventsMax: number;
  /** Of all listeners together. */
  readonly queuedEventsMax: number;
  /** Newest events kept of a device that somebody listens to. */
  readonly keptEventsMax: number;
  /** So long they are kept behind the last listener. */
  readonly keptMs: number;
}

export const liveDefaults: LiveOptions = {
  ...{ listenersMax: 1_000, listenersOfTenantMax: 250 },
  ...{ queueEventsMax: 10_000, queuedEventsMax: 200_000 },
  ...{ keptEventsMax: 1_000, keptMs: 60_000 },
};

interface Listener {
  queue: LiveEvent[];
  open: boolean;
  wake: () => void;
}

interface Topic {
  readonly device: LiveDevice;
  readonly listeners: Set<Listener>;
  /** The device's events behind the number `keptFrom`, ascending; trimmed once they are twice the bound. */
  kept: LiveEvent[];
  keptFrom: number;
  expiry: NodeJS.Timeout | undefined;
}

export function createLiveFeed(options: LiveOptions = liveDefaults): LiveFeed {
  /** By deviceID, which several tenants may use. */
  const topics = new Map<string, Topic[]>();
  const ofTenant = new Map<number, number>();
  let events = 0;
  let listeners = 0;
  let queued = 0;
  let letGo = 0;
  let closed = false;

  const find = ({ tenant, productID, deviceID }: LiveDevice): Topic | undefined =>
    topics.get(deviceID)?.find(({ device }) => device.tenant === tenant && device.productID === productID);

  function openTopic(device: LiveDevice): Topic {
    const topic = find(device) ?? {
      device,
      listeners: new Set(),
      kept: [],
      keptFrom: events,
      expiry: undefined,
    };
    clearTimeout(topic.expiry);
    if (find(device) === undefined) {
      topics.set(device.deviceID, [...(topics.get(device.deviceID) ?? []), topic]);
    }
    return topic;
  }

  function forget(topic: Topic): void {
    const left = topics.get(topic.device.deviceID)?.filter((one) => one !== topic) ?? [];
    if (left.length === 0) topics.delete(topic.device.deviceID);
    else topics.set(topic.device.deviceID, left);
  }

  function publishTo(topic: Topic, { series, time, value }: Point, woken: Set<Listener>): void {
    const event = { number: ++events, field: series.field, time, value };
    topic.kept.push(event);
    if (topic.kept.length >= options.keptEventsMax * 2) trim(topic);
    for (const listener of topic.listeners) {
      if (listener.queue.length >= options.queueEventsMax || queued >= options.queuedEventsMax) {
        letGo++;
        leave(topic, listener);
      } else {
        listener.queue.push(event);
        queued++;
      }
      woken.add(listener);
    }
  }

  function leave(topic: Topic, listener: Listener): void {
    if (!topic.listeners.delete(listener)) return;
    listener.open = false;
    queued -= listener.queue.length;
    listener.queue = [];
    listeners--;
    const { tenant } = topic.device;
    ofTenant.set(tenant, (ofTenant.get(tenant) ?? 1) - 1);
    if (topic.listeners.size === 0) topic.expiry = setTimeout(forget, options.keptMs, topic).unref();
    listener.wake();
  }

  function trim(topic: Topic): void {
    const dropped = topic.kept.splice(0, topic.kept.length - options.keptEventsMax);
    topic.keptFrom = dropped.at(-1)?.number ?? topic.keptFrom;
  }

  /** What came behind the event `after`, where all of that is still known. */
  function missedSince({ kept, keptFrom }: Topic, after: number | null): readonly LiveEvent[] | null {
    if (after === null || after < keptFrom || after > events) return null;
    return kept.filter(({ number }) => number > after);
  }

  function subscribe(device: LiveDevice, after: number | null): LiveSubscription | null {
    const own = ofTenant.get(device.tenant) ?? 0;
    if (closed || listeners >= options.listenersMax || own >= options.listenersOfTenantMax) return null;
    const topic = openTopic(device);
    const listener: Listener = { queue: [], open: true, wake: () => undefined };
    topic.listeners.add(listener);
    listeners++;
    ofTenant.set(device.tenant, own + 1);
    return {
      missed: missedSince(topic, after),
      take: (most) => {
        const taken = listener.queue.splice(0, most);
        queued -= taken.length;
        return taken;
      },
      get open() {
        return listener.open;
      },
      wait: (mostMs) => waitFor(listener, mostMs),
      close: () => leave(topic, listener),
    };
  }

  return {
    run: randomBytes(6).toString("base64url"),
    publish: (points) => {
      if (topics.size === 0) return;
      const woken = new Set<Listener>();
      for (const point of points) {
        if (!topics.has(point.series.deviceID)) continue;
        const topic = find(point.series);
        if (topic !== undefined) publishTo(topic, point, woken);
      }
      for (const listener of woken) listener.wake();
    },
    subscribe,
    counts: () => ({ listeners, queued, letGo }),
    close: () => {
      closed = true;
      for (const topic of [...topics.values()].flat()) {
        for (const listener of [...topic.listeners]) leave(topic, listener);
        clearTimeout(topic.expiry);
      }
      topics.clear();
    },
  };
}

function waitFor(listener: Listener, mostMs: number): Promise<boolean> {
  if (listener.queue.length > 0 || !listener.open) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      listener.wake = () => undefined;
      resolve(false);
    }, mostMs);
    listener.wake = () => {
      clearTimeout(timer);
      resolve(true);
    };
  });
}
