import type { PlatformSubscription } from "../../store/journal/message.js";

/**
 * Filters that the platform wants of a session: put there, or the client's own by SUBSCRIBE, or left out for the
 * life of the session because the client has unsubscribed.
 */
export type PlatformPart = Map<
  string,
  { readonly state: "applied" | "owned" | "declined"; readonly qos: number }
>;

/** Bytes, as JSON, of the filters that the platform may want of one session: they go into one record of the journal. */
export const platformBytesMax = 256 * 1024;

/** If several have one filter, the highest QoS counts; filters beyond the bound are left out. */
export function mergeSubscriptions(all: readonly PlatformSubscription[]): PlatformSubscription[] {
  const merged = new Map<string, PlatformSubscription>();
  let bytes = 0;
  for (const { topic, qos } of all) {
    const known = merged.get(topic);
    if (known === undefined) {
      bytes += Buffer.byteLength(JSON.stringify({ topic, qos })) + 1;
      if (bytes > platformBytesMax) break;
    }
    if (known === undefined || known.qos < qos) merged.set(topic, { topic, qos });
  }
  return [...merged.values()];
}

/** The changes that a session's subscriptions need; the client's own stay as it asked. */
interface PlatformSteps {
  readonly part: PlatformPart | null;
  readonly subscribe: readonly PlatformSubscription[];
  readonly unsubscribe: readonly string[];
}

/** Brings a session up to what is `wanted` now. */
export function platformSteps(
  known: PlatformPart | null,
  subscribed: { has(filter: string): boolean },
  wanted: readonly PlatformSubscription[],
): PlatformSteps {
  const part: PlatformPart = new Map();
  const subscribe: PlatformSubscription[] = [];
  for (const { topic, qos } of wanted) {
    const before = known?.get(topic);
    const state = before?.state ?? (subscribed.has(topic) ? "owned" : "applied");
    part.set(topic, { state, qos });
    if (state === "applied" && before?.qos !== qos) subscribe.push({ topic, qos });
  }
  const unsubscribe = [...(known ?? [])]
    .filter(([topic, { state }]) => state === "applied" && !part.has(topic))
    .map(([topic]) => topic);
  return { part: part.size === 0 ? null : part, subscribe, unsubscribe };
}

/** Whether what is wanted differs from what the session was last brought up to. */
export function differs(known: PlatformPart | null, wanted: readonly PlatformSubscription[]): boolean {
  if (wanted.length !== (known?.size ?? 0)) return true;
  return wanted.some(({ topic, qos }) => known?.get(topic)?.qos !== qos);
}

/** The client has subscribed to the filter, or unsubscribed from it: from now on its own choice stands. */
export function decidedByClient(
  part: PlatformPart | null,
  filter: string,
  state: "owned" | "declined",
): void {
  const known = part?.get(filter);
  if (known !== undefined) part?.set(filter, { ...known, state });
}
