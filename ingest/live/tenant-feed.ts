/** The live feed of a tenant: what happens to its devices, in one log for all of its streams. */
import type { Change } from "../../store/metadata/db/changes.js";
import { createInterests, type Interest } from "./interests.js";
import type { LiveSubscription } from "./listeners.js";
import {
  gapEvent,
  type LivePoint,
  type LiveTopic,
  type NewEvent,
  pointEvent,
  type TenantEvent,
  tenantEvent,
} from "./tenant-events.js";
import { createTopicFeed, type LiveCounts, type TopicFeedOptions } from "./topic-feed.js";
import type { LiveDevice, Topic } from "./topics.js";

/** One stream's part of the feed. It is handed every event of its tenant's log, and chooses. */
export interface TenantSubscription extends LiveSubscription<TenantEvent> {
  /** Grows when devices or groups of the tenant have changed. */
  readonly generation: number;
  /** From now on the points of these devices are held, by deviceID. */
  watch(devices: ReadonlySet<string>): void;
  /**
   * Resolves once events of all its topics arrive, also from other nodes; with false if those of a node are missing.
   */
  ready(): Promise<boolean>;
}

export interface TenantFeed {
  readonly run: string;
  /** The number of the newest event. */
  readonly newest: number;
  /** Whether anybody of the tenant, or of any, listens to the topic, or has lately. */
  wants(topic: LiveTopic, tenant?: number): boolean;
  /** Tenants in which somebody listens to the topic. */
  tenantsOf(topic: LiveTopic): number[];
  /** Points that have been stored. */
  publish(points: readonly LivePoint[]): void;
  tell(tenant: number, event: NewEvent): void;
  /** Something of the tenant, or of any (null), was missed, at a time in milliseconds since 1970. */
  miss(tenant: number | null, time: number): void;
  changed(change: Change): void;
  /** `after` is the number of the last event seen in this run. Null when there are too many streams. */
  subscribe(tenant: number, topics: readonly LiveTopic[], after: number | null): TenantSubscription | null;
  /** Whether a stream of the tenant could go on after the event of that number in that run. */
  resumes(tenant: number, run: string, after: number): boolean;
  /** Asks for topics beside those of a subscription. */
  want(tenant: number, topics: readonly LiveTopic[]): Interest;
  counts(): LiveCounts;
  close(): void;
}

export const tenantFeedDefaults: TopicFeedOptions = {
  listenersMax: 1_000,
  listenersOfTenantMax: 250,
  topicBytesMax: 4 << 20,
  bytesMax: 64 << 20,
  heldMs: 60_000,
};

/** No device has such an id. */
const tenantKey = (tenant: number): LiveDevice => ({ tenant, productID: "", deviceID: `\n${tenant}` });

export function createTenantFeed(options: TopicFeedOptions = tenantFeedDefaults): TenantFeed {
  const interests = createInterests(options.heldMs);
  const feed = createTopicFeed<TenantEvent>(options, ({ tenant }) => interests.forget(tenant));
  const findTopic = (tenant: number): Topic<TenantEvent> | undefined => feed.find(tenantKey(tenant));

  return {
    run: feed.run,
    get newest() {
      return feed.newest;
    },
    wants: (topic, tenant) => feed.size > 0 && interests.has(topic, tenant),
    tenantsOf: interests.tenantsOf,
    publish: (points) => {
      if (feed.size === 0 || !interests.has("points")) return;
      const event = new Map<Topic<TenantEvent>, number>();
      for (const point of points) {
        const { tenant, deviceID } = point.series;
        if (!interests.watches(tenant, deviceID)) continue;
        const topic = findTopic(tenant);
        if (topic === undefined) continue;
        const bytes = event.get(topic) ?? 0;
        // More at once than may be held: all have fallen behind, and encoding the rest would be in vain.
        if (bytes > options.topicBytesMax) feed.skip(topic);
        else event.set(topic, bytes + feed.append(topic, (number) => pointEvent(number, point)));
      }
      for (const topic of event.keys()) feed.wake(topic);
    },
    tell: (tenant, event) => {
      if (!interests.has(event.topic, tenant)) return;
      const topic = findTopic(tenant);
      if (topic === undefined) return;
      feed.append(topic, (number) => tenantEvent(number, event));
      feed.wake(topic);
    },
    miss: (tenant, time) => {
      const found = tenant === null ? null : findTopic(tenant);
      if (found === undefined) return;
      for (const topic of found === null ? feed.all() : [found]) {
        feed.append(topic, (number) => gapEvent(number, time));
        feed.wake(topic);
      }
    },
    changed: ({ tenant, entity }) => {
      if (feed.size > 0 && scopeEntities.has(entity)) interests.change(tenant);
    },
    subscribe: (tenant, topics, after) => {
      const subscription = feed.subscribe(tenantKey(tenant), after);
      if (subscription === null) return null;
      const interest = interests.add(tenant, topics);
      // Its state is in getters, which a spread would freeze.
      return Object.create(subscription, {
        generation: { get: () => interests.generation(tenant) },
        watch: { value: interest.watch },
        ready: { value: () => Promise.resolve(true) },
        close: {
          value: () => {
            interest.close();
            subscription.close();
          },
        },
        giveUp: {
          value: () => {
            interest.close();
            subscription.giveUp();
          },
        },
      }) as TenantSubscription;
    },
    resumes: (tenant, run, after) => {
      const topic = findTopic(tenant);
      if (topic === undefined || run !== feed.run || after > feed.newest) return false;
      return topic.log.positionAfter(after) !== null;
    },
    want: interests.add,
    counts: feed.counts,
    close: feed.close,
  };
}

/** The entities that decide which devices a stream may receive. */
const scopeEntities: ReadonlySet<string> = new Set(["device", "group_member", "device_group"]);
