import { randomBytes } from "node:crypto";
import { createShares } from "../../store/lib/shares.js";
import type { Point } from "../../store/series/series.js";
import { bytesOfEvent, createLiveLog, type LiveEvent, type LiveLog, liveEvent } from "./log.js";

interface LiveDevice {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string;
}

/** What one listener has not taken yet. */
export interface LiveSubscription {
  /** Whether it goes on behind the event that it saw last; false where what it missed is no longer known. */
  readonly resumed: boolean;
  /**
   * The oldest events that wait, about so many bytes of them, and at least one where there is one. They count as held
   * until the next are taken.
   */
  take(bytesMax: number): readonly LiveEvent[];
  /** Counts events from elsewhere likewise; false where there is no room for them: the listener is let go. */
  hold(events: readonly LiveEvent[]): boolean;
  /** False once it has fallen behind by more than is held, or is closed: nothing more will come. */
  readonly open: boolean;
  /** Resolves with true when there is something to take or nothing more will come, with false after `mostMs`. */
  wait(mostMs: number): Promise<boolean>;
  close(): void;
  /** Closes it for a reader that takes nothing, and counts it among those that fell behind. */
  giveUp(): void;
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
  /** Held of a device that somebody listens to: who falls behind them is let go, and may come back. */
  readonly deviceBytesMax: number;
  /** Held of all devices together, a share for each tenant, with what is on its way to listeners. */
  readonly bytesMax: number;
  /** So long a device's events are held behind its last listener. */
  readonly heldMs: number;
}

export const liveDefaults: LiveOptions = {
  ...{ listenersMax: 1_000, listenersOfTenantMax: 250 },
  ...{ deviceBytesMax: 1 << 20, bytesMax: 64 << 20 },
  heldMs: 60_000,
};

interface Listener {
  readonly topic: Topic;
  /** In the topic's log. */
  place: number;
  /** Bytes taken and not passed on. */
  taken: number;
  open: boolean;
  wake: () => void;
}

interface Topic {
  readonly device: LiveDevice;
  readonly part: Part;
  readonly listeners: Set<Listener>;
  readonly log: LiveLog;
  expiry: NodeJS.Timeout | undefined;
}

/** What a tenant has of the feed. */
interface Part {
  listeners: number;
  readonly topics: Set<Topic>;
  /** In the logs of its devices. */
  bytes: number;
}

export function createLiveFeed(options: LiveOptions = liveDefaults): LiveFeed {
  /** By deviceID, which several tenants may use. */
  const topics = new Map<string, Topic[]>();
  const parts = new Map<number, Part>();
  const shares = createShares<number>(options.bytesMax);
  let events = 0;
  let listeners = 0;
  let letGo = 0;
  let closed = false;

  const find = ({ tenant, productID, deviceID }: LiveDevice): Topic | undefined =>
    topics.get(deviceID)?.find(({ device }) => device.tenant === tenant && device.productID === productID);

  function partOf(tenant: number): Part {
    const part = parts.get(tenant) ?? { listeners: 0, topics: new Set(), bytes: 0 };
    parts.set(tenant, part);
    return part;
  }

  function openTopic(device: LiveDevice): Topic {
    const known = find(device);
    clearTimeout(known?.expiry);
    if (known !== undefined) return known;
    const part = partOf(device.tenant);
    const topic: Topic = {
      ...{ device, part, listeners: new Set(), log: createLiveLog(events) },
      expiry: undefined,
    };
    part.topics.add(topic);
    topics.set(device.deviceID, [...(topics.get(device.deviceID) ?? []), topic]);
    return topic;
  }

  function forget(topic: Topic): void {
    shrink(topic, 0);
    const { device, part } = topic;
    part.topics.delete(topic);
    if (part.topics.size === 0) parts.delete(device.tenant);
    const left = topics.get(device.deviceID)?.filter((one) => one !== topic) ?? [];
    if (left.length === 0) topics.delete(device.deviceID);
    else topics.set(device.deviceID, left);
  }

  /** Returns the event's bytes; 0 where there is no room for it. */
  function publishTo(topic: Topic, point: Point): number {
    const event = liveEvent(++events, point.series.field, point);
    const { log, device, part } = topic;
    const bytes = bytesOfEvent(event);
    if (!makeRoom(device.tenant, bytes)) {
      skip(topic);
      return 0;
    }
    log.append(event);
    part.bytes += bytes;
    // By an eighth at a time, so that dropping costs little a point.
    if (log.bytes > options.deviceBytesMax) shrink(topic, options.deviceBytesMax * (7 / 8));
    return bytes;
  }

  /** The latest event is not held: whoever waits for it has fallen behind. */
  function skip(topic: Topic): void {
    freed(topic, topic.log.skip(events));
  }

  /** Takes so many bytes of the tenant's share; beyond it the fullest of its logs give way. False where none can. */
  function makeRoom(tenant: number, bytes: number): boolean {
    while (!shares.take(tenant, bytes)) {
      const part = parts.get(tenant);
      if (part === undefined || part.bytes === 0) return false;
      let fullest: Topic | undefined;
      for (const one of part.topics) if (one.log.bytes > (fullest?.log.bytes ?? 0)) fullest = one;
      if (fullest === undefined) return false;
      shrink(fullest, Math.floor(fullest.log.bytes / 2));
    }
    return true;
  }

  /** Drops a device's oldest events; who has not taken them has fallen behind. */
  function shrink(topic: Topic, bytesMax: number): void {
    freed(topic, topic.log.shrink(bytesMax));
  }

  function freed(topic: Topic, bytes: number): void {
    topic.part.bytes -= bytes;
    shares.give(topic.device.tenant, bytes);
    for (const listener of topic.listeners) if (listener.place < topic.log.begin) fallBehind(listener);
  }

  function fallBehind(listener: Listener): void {
    if (listener.open) letGo++;
    leave(listener);
  }

  function leave(listener: Listener): void {
    const { topic } = listener;
    if (!topic.listeners.delete(listener)) return;
    listener.open = false;
    giveBack(listener);
    listeners--;
    topic.part.listeners--;
    if (topic.listeners.size === 0) topic.expiry = setTimeout(forget, options.heldMs, topic).unref();
    listener.wake();
  }

  function giveBack(listener: Listener): void {
    shares.give(listener.topic.device.tenant, listener.taken);
    listener.taken = 0;
  }

  function take(listener: Listener, bytesMax: number): readonly LiveEvent[] {
    giveBack(listener);
    const { topic } = listener;
    const found = listener.open ? topic.log.from(listener.place, bytesMax) : [];
    if (found.length === 0) return found;
    listener.place += found.length;
    return hold(listener, bytesOf(found)) ? found : [];
  }

  /** Counts what is on its way to a listener. False where its tenant has no room for that: it is let go. */
  function hold(listener: Listener, bytes: number): boolean {
    if (listener.open && makeRoom(listener.topic.device.tenant, bytes)) listener.taken += bytes;
    else fallBehind(listener);
    // Making room may have let this one go, too.
    if (!listener.open) giveBack(listener);
    return listener.open;
  }

  function subscribe(device: LiveDevice, after: number | null): LiveSubscription | null {
    const own = parts.get(device.tenant)?.listeners ?? 0;
    if (closed || listeners >= options.listenersMax || own >= options.listenersOfTenantMax) return null;
    const topic = openTopic(device);
    const behind = after === null || after > events ? null : topic.log.placeBehind(after);
    const listener: Listener = {
      ...{ topic, place: behind ?? topic.log.end, taken: 0, open: true },
      wake: () => undefined,
    };
    topic.listeners.add(listener);
    listeners++;
    topic.part.listeners++;
    return {
      resumed: behind !== null,
      take: (bytesMax) => take(listener, bytesMax),
      hold: (found) => hold(listener, bytesOf(found)),
      get open() {
        return listener.open;
      },
      wait: (mostMs) => waitFor(listener, mostMs),
      close: () => leave(listener),
      giveUp: () => fallBehind(listener),
    };
  }

  return {
    run: randomBytes(6).toString("base64url"),
    publish: (points) => {
      if (topics.size === 0) return;
      const told = new Map<Topic, number>();
      for (const point of points) {
        if (!topics.has(point.series.deviceID)) continue;
        const topic = find(point.series);
        if (topic === undefined) continue;
        const bytes = told.get(topic) ?? 0;
        if (bytes <= options.deviceBytesMax) told.set(topic, bytes + publishTo(topic, point));
        else {
          // More at once than a device may hold: all have fallen behind, and encoding the rest would be in vain.
          events++;
          skip(topic);
        }
      }
      for (const topic of told.keys()) for (const listener of topic.listeners) listener.wake();
    },
    subscribe,
    counts: () => {
      let queued = 0;
      for (const { topics: own } of parts.values())
        for (const topic of own)
          for (const listener of topic.listeners) queued += topic.log.end - listener.place;
      return { listeners, queued, bytes: shares.total, letGo };
    },
    close: () => {
      closed = true;
      for (const topic of [...topics.values()].flat()) {
        for (const listener of [...topic.listeners]) leave(listener);
        clearTimeout(topic.expiry);
        forget(topic);
      }
    },
  };
}

const bytesOf = (events: readonly LiveEvent[]): number =>
  events.reduce((sum, event) => sum + bytesOfEvent(event), 0);

function waitFor(listener: Listener, mostMs: number): Promise<boolean> {
  if (listener.place < listener.topic.log.end || !listener.open) return Promise.resolve(true);
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
