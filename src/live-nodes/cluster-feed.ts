/** The live feed of a tenant in a cluster: events of other nodes are published here as if they were local. */
import type { Socket } from "node:net";
import { type LiveTopic, type NodeTopic, nodeTopics } from "../../ingest/live/tenant-events.js";
import type { TenantFeed, TenantSubscription } from "../../ingest/live/tenant-feed.js";
import type { NodeEvent, RequestLine } from "./lines.js";
import { type NodeLink, openNodeLink } from "./node-link.js";

type ListenedFeed = Pick<TenantFeed, "run" | "newest" | "subscribe">;

interface OtherNodes {
  /** Their numbers. */
  readonly others: readonly number[];
  /** Opens a link for the events that the node keeps. @throws Error if it cannot be reached */
  openEvents(node: number): Promise<Socket>;
  readonly onFault: (error: Error) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface FeedOfNodes extends ListenedFeed {
  /** Ends all links. */
  close(): void;
}

/** The events that one stream wants from other nodes. */
interface Want {
  watch(devices: ReadonlySet<string>): void;
  ready(): Promise<boolean>;
  close(): void;
}

/** The links of one tenant: they are there while any of its streams is, or may come back. */
interface TenantLinks {
  want(topics: readonly NodeTopic[]): Want;
  close(): void;
}

/** @param heldMs how long the feed holds events for a stream that has left */
export function createFeedOfNodes(feed: TenantFeed, nodes: OtherNodes, heldMs: number): FeedOfNodes {
  const tenants = new Map<number, TenantLinks>();

  function findTenantLinks(tenant: number): TenantLinks {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    const links = openTenantLinks(feed, nodes, { tenant, heldMs, onDeserted: () => tenants.delete(tenant) });
    tenants.set(tenant, links);
    return links;
  }

  return {
    run: feed.run,
    get newest() {
      return feed.newest;
    },
    subscribe: (tenant, topics, after) => {
      const subscription = feed.subscribe(tenant, topics, after);
      const kept = topics.filter(isNodeTopic);
      if (subscription === null || kept.length === 0) return subscription;
      const want = findTenantLinks(tenant).want(kept);
      // Its state is in getters, which a spread would freeze.
      return Object.create(subscription, {
        watch: {
          value: (devices: ReadonlySet<string>) => {
            subscription.watch(devices);
            want.watch(devices);
          },
        },
        ready: { value: want.ready },
        close: {
          value: () => {
            want.close();
            subscription.close();
          },
        },
        giveUp: {
          value: () => {
            want.close();
            subscription.giveUp();
          },
        },
      }) as TenantSubscription;
    },
    close: () => {
      for (const links of tenants.values()) links.close();
      tenants.clear();
    },
  };
}

const isNodeTopic = (topic: LiveTopic): topic is NodeTopic =>
  (nodeTopics as readonly LiveTopic[]).includes(topic);

interface OfTenant {
  readonly tenant: number;
  readonly heldMs: number;
  /** Nobody wants anything any more. */
  readonly onDeserted: () => void;
}

function openTenantLinks(
  feed: Pick<TenantFeed, "publish" | "tell" | "miss">,
  { others, openEvents, onFault, now }: OtherNodes,
  { tenant, heldMs, onDeserted }: OfTenant,
): TenantLinks {
  const wants = new Map<number, RequestLine>();
  let newest = 0;
  const miss = (): void => feed.miss(tenant, now());
  const links: readonly NodeLink[] = others.map((node) =>
    openNodeLink({
      tenant,
      open: () => openEvents(node),
      wanted: () => wants.values(),
      onEvents: (events) => {
        for (const event of events) {
          if (event.topic === "gap") miss();
          else publishHere(feed, tenant, event);
        }
      },
      onMissed: miss,
      onAway: onFault,
    }),
  );
  const sayAll = (line: RequestLine): void => {
    for (const link of links) link.say(line);
  };
  const close = (): void => {
    for (const link of links) link.close();
  };
  return {
    want: (topics) => {
      const want = ++newest;
      let isOpen = true;
      const watch = (devices: ReadonlySet<string>): void => {
        if (!isOpen) return;
        const line: RequestLine = { line: "want", want, topics, devices: [...devices] };
        wants.set(want, line);
        sayAll(line);
      };
      const leave = (): void => {
        wants.delete(want);
        sayAll({ line: "leave", want });
        if (wants.size > 0) return;
        close();
        onDeserted();
      };
      watch(new Set());
      return {
        watch,
        ready: async () => (await Promise.all(links.map((link) => link.ready()))).every((isThere) => isThere),
        close: () => {
          if (isOpen) setTimeout(leave, heldMs).unref();
          isOpen = false;
        },
      };
    },
    close,
  };
}

function publishHere(
  feed: Pick<TenantFeed, "publish" | "tell">,
  tenant: number,
  event: Exclude<NodeEvent, { topic: "gap" }>,
): void {
  if (event.topic !== "points") return feed.tell(tenant, event);
  const { deviceID, field, time, value } = event;
  feed.publish([{ series: { tenant, deviceID, field }, time, value }]);
}
