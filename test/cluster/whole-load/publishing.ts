/** Devices that publish numbers at QoS 1 and 2, and subscribers whose sessions are to hear all of them. */
import { createPublisher, type Publisher } from "../../flow/publisher.js";
import { createReceiver, type Receiver } from "../../flow/receiver.js";
import { until } from "../../suite.js";
import type { Rec } from "../../world.js";
import { keepRunning } from "./steady.js";

const started = Math.floor(Date.now() / 1000) - 86_400;

export const kinds = [
  {
    name: "QoS 1, own times",
    qos: 1,
    payload: (n: number) => JSON.stringify({ n, time: started * 1000 + n }),
  },
  { name: "QoS 1, the service's times", qos: 1, payload: (n: number) => JSON.stringify({ n }) },
  { name: "QoS 2", qos: 2, payload: (n: number) => JSON.stringify({ n }) },
] as const;

export interface Publishing {
  readonly kind: (typeof kinds)[number];
  readonly device: Rec;
  readonly publisher: Publisher;
  /** Hears what the device publishes, at its QoS. */
  readonly receiver: Receiver;
  /** Longest time without an acknowledgement, ms, since it was asked last. */
  longestPause(): number;
  /** Resolves once all that was sent is acknowledged, and heard by the subscriber. */
  end(): Promise<void>;
}

interface Pace {
  readonly mostInFlight: number;
  readonly pauseMs: number;
}

/** Resolves once the subscriber has its session. */
export async function startPublishing(
  device: Rec,
  kind: (typeof kinds)[number],
  address: string,
  pace: Pace,
): Promise<Publishing> {
  const receiver = createReceiver(device, "data", kind.qos);
  const hasHeardAll = (): boolean =>
    receiver.taken.length >= publisher.sent && new Set(receiver.taken).size === publisher.sent;
  const publisher = createPublisher({ ...kind, ...pace, device, clientID: "publisher" });
  const listening = keepRunning(receiver, address, () => receiver.taken.length + receiver.present.length);
  await until(() => receiver.isSubscribed, { what: "a subscriber" });
  let isEnding = false;
  const run = (to: string): Promise<void> => {
    const running = publisher.run(to);
    // What was sent is sent again until it is acknowledged, and nothing new.
    if (isEnding) publisher.stop().catch(() => undefined);
    return running;
  };
  const publishing = keepRunning({ ...publisher, run }, address, () => publisher.acknowledged.size);
  return {
    kind,
    device,
    publisher,
    receiver,
    longestPause: publishing.longestPause,
    end: async () => {
      isEnding = true;
      publisher.stop().catch(() => undefined);
      await publishing.end(() => publisher.acknowledged.size === publisher.sent);
      await listening.end(hasHeardAll);
    },
  };
}
