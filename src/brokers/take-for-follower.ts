/** Takes messages of the broker, for devices that are kept here, from the node that follows it. */
import { type ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import { lightWorkMax } from "../../ingest/uplinks/work-budget.js";
import { decodeUplinkDetails } from "../../store/journal/record-details.js";
import type { LocalShard } from "./local-shard.js";
import type { BrokerTake, BrokerTaken, CarriedMessage, ShardCaller } from "./shard-calls.js";

/** Takes messages of the broker on behalf of another node. */
export interface FollowerCalls {
  /** Resolves once those that are taken are on disk; for each whether it is. */
  take(call: BrokerTake): Promise<boolean[]>;
  /**
   * What the shard of the call has of a device, whichever shard it is of by now: from then on, nothing comes of an
   * earlier call about the shard.
   */
  taken(call: BrokerTaken): Promise<string[]>;
}

interface FollowerCallsDeps {
  readonly shards: ByShard<LocalShard>;
  readonly directory: Pick<Directory, "get">;
  /** Another process follows the broker than before. */
  readonly onFollower: (term: number) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A message that is taken. */
interface OnItsWay {
  /** Resolves once it is on disk. */
  readonly kept: Promise<void>;
}

export function createFollowerCalls(deps: FollowerCallsDeps): FollowerCalls {
  const { shards, directory, now } = deps;
  /** Of the last follower. */
  let term = 0;
  /** By shard: the last call of the follower. */
  const numbers = new Map<number, number>();

  function isCurrent(call: ShardCaller): boolean {
    return call.term === term && numbers.get(call.shard) === call.number;
  }

  /** False for a call of one that has been followed by another, or that comes after a later one. */
  function admit(call: ShardCaller): boolean {
    if (call.term < term) return false;
    if (call.term > term) {
      term = call.term;
      numbers.clear();
      deps.onFollower(term);
    }
    if (call.number <= (numbers.get(call.shard) ?? -1)) return false;
    numbers.set(call.shard, call.number);
    return true;
  }

  /** Null: it is not taken. */
  async function takeOne(call: BrokerTake, message: CarriedMessage): Promise<OnItsWay | null> {
    const device = await directory.get(message.device);
    // Deleted meanwhile: nothing of it is kept.
    if (device === undefined) return { kept: Promise.resolve() };
    const shard = await shards.of(device);
    if (shard instanceof Elsewhere || shard.isFull()) return null;
    const { work } = shard;
    const { topic, qos, messageID, dup, refused } = message;
    const { tenant } = device.device;
    const cost = shard.registry.publishCost(device.id, topic);
    const isHeavy = cost > lightWorkMax;
    if (isHeavy) await work.room(tenant, cost);
    const give = (): void => (isHeavy ? work.give(tenant, cost) : undefined);
    if (!isCurrent(call)) {
      give();
      return null;
    }
    const payload = Buffer.from(message.payload, "base64");
    const details = message.details === null ? null : Buffer.from(message.details, "base64");
    const { properties } = decodeUplinkDetails(details);
    const { session } = call;
    const at = now() * 1000;
    const origin = { device, connection: 0, session, ip: "" };
    const uplink = { topic, payload, qos, messageID, dup, retain: false, properties };
    const kept = new Promise<void>((resolve) => {
      shard.accept.uplink(origin, uplink, refused, () => {
        give();
        resolve();
        if (refused) return;
        const published = { device: device.id, session, topic, payload, qos, retain: false, properties, at };
        shard.registry.publish(published);
      });
    });
    return { kept };
  }

  return {
    take: async (call) => {
      const taken: OnItsWay[] = [];
      const isAdmitted = admit(call);
      for (const message of isAdmitted ? call.messages : []) {
        const one = await takeOne(call, message);
        // What comes after it waits with it.
        if (one === null) break;
        taken.push(one);
      }
      await Promise.all(taken.map(({ kept }) => kept));
      return call.messages.map((_, i) => i < taken.length);
    },
    taken: async (call) => {
      if (!admit(call)) throw new Error("another process follows the broker");
      const shard = shards.all.find(({ number }) => number === call.shard);
      if (shard === undefined) throw new Error("the shard is not here");
      return [...(await shard.takenBefore(call.device))];
    },
  };
}
