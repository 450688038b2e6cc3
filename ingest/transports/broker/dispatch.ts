/** Finds the device of each message, and hands the message on: at once if everything that this needs is in memory. */
import { retryUntil } from "../../../store/lib/retry.js";
import type { DeviceEntry } from "../../directory/entries.js";
import { lightWorkMax } from "../../uplinks/work-budget.js";
import type { Addressee, BrokerShard } from "./broker-shard.js";
import type { BrokerIntake, BrokerReceived } from "./intake.js";
import type { BrokerDelivery } from "./packets.js";
import type { Redeliveries } from "./redelivery.js";
import { readUplinkTopic } from "./topics.js";

export interface DispatchDeps {
  /** By deviceID, from memory: null = nobody has it, undefined = it must be looked up. */
  readonly peek: (deviceID: string) => DeviceEntry | null | undefined;
  readonly find: (deviceID: string) => Promise<DeviceEntry | undefined>;
  /** The shard of a device, from memory; null: it must be looked up. */
  readonly peekShard: (device: DeviceEntry) => BrokerShard | null;
  readonly findShard: (device: DeviceEntry) => Promise<BrokerShard>;
  readonly onTrouble: (error: unknown) => void;
  /** Nothing is looked up any more once it is aborted. */
  readonly signal: AbortSignal;
}

interface Dispatch {
  /** False if the message has to wait for something. */
  atOnce(received: BrokerReceived): boolean;
  /** Waits for whatever the message needs. */
  later(received: BrokerReceived): Promise<void>;
  /**
   * Asks for the device of a message whose turn comes later, so that a burst of unknown devices is looked up together.
   */
  askAhead(delivery: BrokerDelivery): void;
}

const lookupDelayMs = { first: 1000, longest: 1000 } as const;

export function createDispatch(
  deps: DispatchDeps,
  intake: BrokerIntake,
  redeliveries: Redeliveries,
): Dispatch {
  const { peek, find, peekShard, findShard, onTrouble, signal } = deps;

  const publishCost = ({ device, shard }: Addressee, topic: string): number =>
    shard.registry.publishCost(device.id, topic);

  /** The metadata may be away for a while; the messages wait for it. */
  const patiently = <T>(action: () => Promise<T>): Promise<T> =>
    retryUntil(action, { signal, delayMs: lookupDelayMs, isTransient: () => true, onTrouble });

  /** A message that causes much work in its commit waits for the turn of its device's tenant. */
  async function takeInTurn(
    received: BrokerReceived,
    to: Addressee,
    topic: string,
    cost: number,
  ): Promise<void> {
    const { tenant } = to.device.device;
    const { work } = to.shard;
    await work.room(tenant, cost);
    if (received.acks.isOver) work.give(tenant, cost);
    else intake.take(received, to, topic, cost);
  }

  return {
    atOnce: (received) => {
      const named = intake.read(received);
      if (named === null) return true;
      const device = peek(named.deviceID);
      if (device === undefined) return false;
      if (device === null) {
        intake.ofNobody(received);
        return true;
      }
      const shard = peekShard(device);
      if (shard === null || redeliveries.needsHistory(received.delivery, { device, shard })) return false;
      if (publishCost({ device, shard }, named.topic) > lightWorkMax) return false;
      intake.take(received, { device, shard }, named.topic, 0);
      return true;
    },
    later: async (received) => {
      const named = intake.read(received);
      if (named === null) return;
      const device = await patiently(() => find(named.deviceID));
      const shard = device === undefined ? null : await patiently(() => findShard(device));
      const to = device === undefined || shard === null ? null : { device, shard };
      if (to !== null && redeliveries.needsHistory(received.delivery, to)) {
        await patiently(() => redeliveries.readHistory(to));
      }
      // If its connection has ended since, the broker sends it again.
      if (received.acks.isOver) return;
      if (to === null) return intake.ofNobody(received);
      const cost = publishCost(to, named.topic);
      if (cost > lightWorkMax) await takeInTurn(received, to, named.topic, cost);
      else intake.take(received, to, named.topic, 0);
    },
    askAhead: ({ topic }) => {
      const named = topic === null ? null : readUplinkTopic(topic);
      if (named !== null && peek(named.deviceID) === undefined) find(named.deviceID).catch(() => undefined);
    },
  };
}
