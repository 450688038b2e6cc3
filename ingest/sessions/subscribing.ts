/** What sessions subscribe to, at their clients' wish and at the platform's, and what matching it costs. */
import type { MqttSubscription, PlatformSubscription } from "../../store/journal/message.js";
import { decidedByClient, differs, platformSteps } from "../messages/platform-subscriptions.js";
import type { SessionDelivery } from "./delivery.js";
import type { DirtySet } from "./dirty-set.js";
import type { HeldBytes } from "./held-bytes.js";
import { isDeviceInbox } from "./routing.js";
import type { DeviceSessions, SessionState } from "./state.js";
import { ownSubscriptions } from "./subscriptions.js";
import { weightOfFilter, weightOfPlatform } from "./weights.js";

/** Costs are counted in characters of topic filters that are compared. */
export interface Subscribing {
  subscribe(state: SessionState, filter: string, subscription: MqttSubscription, at: number): void;
  unsubscribe(state: SessionState, filter: string): void;
  /** Whether the platform wants other subscriptions of the session than it was last brought up to. */
  differsFromPlatform(state: SessionState, wanted: readonly PlatformSubscription[]): boolean;
  subscribeByPlatform(state: SessionState, wanted: readonly PlatformSubscription[], at: number): void;
  /** What it costs to publish there. */
  publishCost(device: number, topic: string): number;
  /** What it costs to subscribe to so many filters at QoS 1 or 2: each looks at what is retained. */
  subscribeCost(device: number, filters: number): number;
  /** What it costs to bring a session up to what the platform wants: each new filter looks at what is retained. */
  platformCost(state: SessionState, wanted: readonly PlatformSubscription[]): number;
}

export function createSubscribing(
  registry: ReadonlyMap<number, DeviceSessions>,
  dirtySet: DirtySet,
  held: HeldBytes,
  delivery: SessionDelivery,
): Subscribing {
  /** Subscribes, and hands over the retained messages that are asked for. */
  function add(state: SessionState, filter: string, subscription: MqttSubscription, at: number): void {
    const known = state.subscriptions.has(filter);
    const subscriptions = ownSubscriptions(state.subscriptions);
    subscriptions.set(filter, subscription);
    state.subscriptions = subscriptions;
    if (!known) held.grow(state, weightOfFilter(filter));
    dirtySet.session(state);
    const deviceSessions = registry.get(state.device);
    if (deviceSessions !== undefined)
      delivery.handOver(deviceSessions, state, { filter, subscription, known, at });
  }

  function remove(state: SessionState, filter: string): void {
    if (ownSubscriptions(state.subscriptions).delete(filter)) held.grow(state, -weightOfFilter(filter));
  }

  /** The client itself has said what it wants of its inbox. */
  function takeInbox(state: SessionState, filter: string): void {
    const deviceSessions = registry.get(state.device);
    if (deviceSessions !== undefined && isDeviceInbox(deviceSessions.deviceID, filter))
      state.hasInbox = false;
  }

  const countRetained = (device: number): number => registry.get(device)?.retained.size ?? 0;

  return {
    subscribe: (state, filter, subscription, at) => {
      takeInbox(state, filter);
      decidedByClient(state.platform, filter, "owned");
      add(state, filter, subscription, at);
    },
    unsubscribe: (state, filter) => {
      remove(state, filter);
      decidedByClient(state.platform, filter, "declined");
      takeInbox(state, filter);
      dirtySet.session(state);
    },
    differsFromPlatform: (state, wanted) => differs(state.platform, wanted),
    subscribeByPlatform: (state, wanted, at) => {
      const { part, subscribe, unsubscribe } = platformSteps(state.platform, state.subscriptions, wanted);
      held.grow(state, weightOfPlatform(part) - weightOfPlatform(state.platform));
      state.platform = part;
      for (const filter of unsubscribe) remove(state, filter);
      for (const { topic, qos } of subscribe) add(state, topic, { ...byPlatform, qos: qos as 0 | 1 | 2 }, at);
      dirtySet.session(state);
    },
    publishCost: (device, topic) => {
      let cost = 0;
      for (const { subscriptions } of registry.get(device)?.sessions.values() ?? noSessions) {
        cost += subscriptions.costOf(topic);
      }
      return cost;
    },
    subscribeCost: (device, filters) => filters * countRetained(device) * retainedCost,
    platformCost: (state, wanted) => {
      const retained = countRetained(state.device);
      if (retained * wanted.length === 0) return 0;
      let filters = 0;
      for (const { topic, qos } of wanted) if (state.platform?.get(topic)?.qos !== qos) filters++;
      return filters * retained * retainedCost;
    },
  };
}

/** What it costs to look at a retained message and to queue it, in characters of a filter. */
const retainedCost = 100;

const noSessions: readonly SessionState[] = [];

/** The options of a subscription that the platform makes; retained messages come only if it is new. */
const byPlatform = { noLocal: false, retainAsPublished: false, retainHandling: 1, identifier: null } as const;
