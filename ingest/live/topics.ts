/** The devices that somebody listens to, or has listened to lately: their logs, listeners and tenants. */
import { createLiveLog, type LiveLog, type Numbered } from "./log.js";

export interface LiveDevice {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string;
}

/** A topic: the events of one device. */
export interface Topic<Event extends Numbered> {
  readonly device: LiveDevice;
  readonly part: TenantPart<Event>;
  readonly listeners: Set<Listener<Event>>;
  readonly log: LiveLog<Event>;
  /** Forgets the topic some time after its last listener. */
  expiry: NodeJS.Timeout | undefined;
}

export interface Listener<Event extends Numbered> {
  readonly topic: Topic<Event>;
  /** In the topic's log: the next event that it takes. */
  position: number;
  /** Bytes taken and not passed on. */
  taken: number;
  open: boolean;
  wake: () => void;
}

/** What a tenant has of the feed. */
export interface TenantPart<Event extends Numbered> {
  listeners: number;
  readonly topics: Set<Topic<Event>>;
  /** In the logs of its devices. */
  bytes: number;
}

interface Topics<Event extends Numbered> {
  /** Whether anybody's device of this id is listened to: the first look at each point. */
  has(deviceID: string): boolean;
  find(device: LiveDevice): Topic<Event> | undefined;
  /** The device's topic; a new one begins after the event of that number. */
  open(device: LiveDevice, number: number): Topic<Event>;
  remove(topic: Topic<Event>): void;
  partOf(tenant: number): TenantPart<Event> | undefined;
  readonly size: number;
  all(): Topic<Event>[];
}

export function createTopics<Event extends Numbered>(): Topics<Event> {
  /** By deviceID, which several tenants may use. */
  const topics = new Map<string, Topic<Event>[]>();
  const parts = new Map<number, TenantPart<Event>>();

  const find = ({ tenant, productID, deviceID }: LiveDevice): Topic<Event> | undefined =>
    topics.get(deviceID)?.find(({ device }) => device.tenant === tenant && device.productID === productID);

  return {
    has: (deviceID) => topics.has(deviceID),
    find,
    open: (device, number) => {
      const known = find(device);
      if (known !== undefined) return known;
      const part = parts.get(device.tenant) ?? { listeners: 0, topics: new Set(), bytes: 0 };
      parts.set(device.tenant, part);
      const log = createLiveLog<Event>(number);
      const topic: Topic<Event> = { device, part, listeners: new Set(), log, expiry: undefined };
      part.topics.add(topic);
      topics.set(device.deviceID, [...(topics.get(device.deviceID) ?? []), topic]);
      return topic;
    },
    remove: (topic) => {
      const { device, part } = topic;
      part.topics.delete(topic);
      if (part.topics.size === 0) parts.delete(device.tenant);
      const left = topics.get(device.deviceID)?.filter((one) => one !== topic) ?? [];
      if (left.length === 0) topics.delete(device.deviceID);
      else topics.set(device.deviceID, left);
    },
    partOf: (tenant) => parts.get(tenant),
    get size() {
      return topics.size;
    },
    all: () => [...topics.values()].flat(),
  };
}
