/** Finds the device of each message, and hands the message on: at once if everything that this needs is in memory. */
import { retry } from "../../../store/lib/retry.js";
import type { DeviceEntry } from "../../directory/entries.js";
import { lightWorkMax, type WorkBudget } from "../../uplinks/work-budget.js";
import type { Intake, IntakeDeps, Received } from "./intake.js";
import type { Delivery } from "./packets.js";
import type { Redeliveries } from "./redelivery.js";
import { readUplinkTopic } from "./topics.js";

export interface DispatchDeps extends Pick<IntakeDeps, "registry"> {
  readonly work: WorkBudget;
  /** By deviceID, from memory: null = nobody has it, undefined = it must be looked up. */
  readonly peek: (deviceID: string) => DeviceEntry | null | undefined;
  readonly find: (deviceID: string) => Promise<DeviceEntry | undefined>;
  readonly onTrouble: (error: unknown) => void;
  /** Nothing is looked up any more once it is aborted. */
  readonly signal: AbortSignal;
}

interface Dispatch {
  /** False if the message has to wait for something. */
  atOnce(received: Received): boolean;
  /** Waits for whatever the message needs. */
  later(received: Received): Promise<void>;
  /**
   * Asks for the device of a message whose turn comes later, so that a burst of unknown devices is looked up together.
   */
  askAhead(delivery: Delivery): void;
}

const lookupDelayMs = { first: 1000, longest: 1000 } as const;

export function createDispatch(deps: DispatchDeps, intake: Intake, redeliveries: Redeliveries): Dispatch {
  const { registry, work, peek, find, onTrouble, signal } = deps;

  const costOf = (device: DeviceEntry | null, topic: string): number =>
    device === null ? 0 : registry.publishCost(device.id, topic);

  /** The metadata may be away for a while; the messages wait for it. */
  const patiently = <T>(action: () => Promise<T>): Promise<T> =>
    retry(action, { signal, delayMs: lookupDelayMs, isTransient: () => true, onTrouble });

  /** A message that causes much work in its commit waits for the turn of its device's tenant. */
  async function takeInTurn(
    received: Received,
    device: DeviceEntry,
    topic: string,
    cost: number,
  ): Promise<void> {
    const { tenant } = device.device;
    await work.room(tenant, cost);
    const give = (): void => work.give(tenant, cost);
    let isAppended = false;
    try {
      isAppended = !received.acks.isOver && intake.take(received, device, topic, give);
    } finally {
      if (!isAppended) give();
    }
  }

  return {
    atOnce: (received) => {
      const named = intake.read(received);
      if (named === null) return true;
      const device = peek(named.deviceID);
      if (device === undefined) return false;
      if (device !== null && redeliveries.needsHistory(received.delivery, device)) return false;
      if (costOf(device, named.topic) > lightWorkMax) return false;
      intake.take(received, device, named.topic);
      return true;
    },
    later: async (received) => {
      const named = intake.read(received);
      if (named === null) return;
      const device = (await patiently(() => find(named.deviceID))) ?? null;
      if (device !== null && redeliveries.needsHistory(received.delivery, device)) {
        await patiently(() => redeliveries.readHistory(device));
      }
      // Of a connection that has gone meanwhile: the broker sends it again.
      if (received.acks.isOver) return;
      const cost = costOf(device, named.topic);
      if (device !== null && cost > lightWorkMax) await takeInTurn(received, device, named.topic, cost);
      else intake.take(received, device, named.topic);
    },
    askAhead: ({ topic }) => {
      const named = topic === null ? null : readUplinkTopic(topic);
      if (named !== null && peek(named.deviceID) === undefined) find(named.deviceID).catch(() => undefined);
    },
  };
}
