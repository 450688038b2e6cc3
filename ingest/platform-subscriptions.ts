/** A subscription that the platform makes for a device, whoever it was stored for: device, product or group. */
export interface PlatformSubscription {
  readonly topic: string;
  readonly qos: number;
}

/**
 * Filters that the platform wants of a session: put there, or the client's own by SUBSCRIBE, or left out for the
 * life of the session because the client has unsubscribed.
 */
export type PlatformPart = Map<string, "applied" | "owned" | "declined">;

/** A session with subscriptions of both kinds; most have none of the platform's. */
export interface PlatformSession {
  readonly subscriptions: Map<string, number>;
  platform?: PlatformPart | null;
}

/** Of several with one filter the highest QoS counts. */
export function mergeSubscriptions(all: readonly PlatformSubscription[]): PlatformSubscription[] {
  const merged = new Map<string, PlatformSubscription>();
  for (const one of all) {
    const known = merged.get(one.topic);
    if (known === undefined || known.qos < one.qos) merged.set(one.topic, { topic: one.topic, qos: one.qos });
  }
  return [...merged.values()];
}

/** Brings a session up to what is `wanted` now. What the client has subscribed itself stays as it asked. */
export function applyPlatform(session: PlatformSession, wanted: readonly PlatformSubscription[]): void {
  if (wanted.length === 0 && !session.platform) return;
  const { subscriptions } = session;
  const part: PlatformPart = session.platform ?? new Map();
  session.platform = part;
  const topics = new Set(wanted.map(({ topic }) => topic));
  for (const [topic, state] of part) {
    if (topics.has(topic)) continue;
    part.delete(topic);
    if (state === "applied") subscriptions.delete(topic);
  }
  for (const { topic, qos } of wanted) {
    const state = part.get(topic) ?? (subscriptions.has(topic) ? "owned" : "applied");
    part.set(topic, state);
    if (state === "applied") subscriptions.set(topic, qos);
  }
}

/** The client has subscribed to the filter: from now on it is its own. */
export function ownedByClient({ platform }: PlatformSession, filter: string): void {
  if (platform?.has(filter)) platform.set(filter, "owned");
}

/** The client has unsubscribed from the filter. */
export function declinedByClient({ platform }: PlatformSession, filter: string): void {
  if (platform?.has(filter)) platform.set(filter, "declined");
}
