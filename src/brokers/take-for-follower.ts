/** Takes messages of the broker, for devices that are kept here, from the node that follows it. */
import { randomUUID } from "node:crypto";
import type { ByShard } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import { publishUplink } from "../../ingest/sessions/publish.js";
import { lightWorkMax } from "../../ingest/uplinks/work-budget.js";
import { decodeUplinkDetails } from "../../store/journal/record-details.js";
import { orAborted } from "../../store/lib/abortable.js";
import type { LocalShard } from "./local-shard.js";
import type {
  BrokerBegin,
  BrokerTake,
  BrokerTaken,
  CarriedMessage,
  FollowerCall,
  Ticketed,
} from "./shard-calls.js";

/** Takes messages of the broker on behalf of the node that follows it, which may be this one. */
export interface FollowerCalls {
  /**
   * Answers `brokerBegin` with a ticket for calls about the shard as it is open now: calls with earlier tickets fail.
   * Answers `brokerTake` with whether each message is taken, once those are on disk; `brokerTaken` with `messageKey` of
   * each message of a device in the shard. Rejects if the shard is not here or closes: some may be kept then.
   */
  answer(call: FollowerCall): Promise<string | boolean[] | string[]>;
}

interface FollowerCallsDeps {
  readonly shards: ByShard<LocalShard>;
  readonly directory: Pick<Directory, "get">;
  /** Whether the seat of the one that follows the broker is that process's now. */
  readonly isSeated: (owner: string) => Promise<boolean>;
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
  const { shards, directory, isSeated, now } = deps;
  /** The term of the last follower. */
  let term = 0;
  const tickets = new WeakMap<LocalShard, string>();

  function shardHere(number: number): LocalShard {
    const shard = shards.all.find((one) => one.number === number);
    if (shard === undefined) throw new Error("the shard is not here");
    return shard;
  }

  async function begin({ shard: number, term: own, owner }: BrokerBegin): Promise<string> {
    const shard = shardHere(number);
    // If the shard has just come, this process may not know yet which process follows the broker.
    const isKnown = tickets.has(shard) || (await isSeated(owner));
    if (!isKnown || own < term) throw new Error("another process follows the broker");
    const ticket = randomUUID();
    tickets.set(shard, ticket);
    if (own > term) {
      term = own;
      deps.onFollower(term);
    }
    return ticket;
  }

  function requireShard(call: Ticketed): LocalShard {
    const shard = shardHere(call.shard);
    if (tickets.get(shard) !== call.ticket) throw new Error("the call has been overtaken");
    return shard;
  }

  /** Null: it is not taken. */
  async function takeOne(
    call: BrokerTake,
    shard: LocalShard,
    message: CarriedMessage,
  ): Promise<OnItsWay | null> {
    const device = await directory.get(message.device);
    // Deleted meanwhile: nothing of it is kept.
    if (device === undefined) return { kept: Promise.resolve() };
    if ((await shards.of(device)) !== shard || shard.isFull()) return null;
    const { work } = shard;
    const { topic, qos, messageID, dup, refused } = message;
    const { tenant } = device.device;
    const cost = shard.registry.publishCost(device.id, topic);
    const isHeavy = cost > lightWorkMax;
    if (isHeavy) await work.room(tenant, cost);
    if (tickets.get(shard) !== call.ticket) {
      if (isHeavy) work.give(tenant, cost);
      return null;
    }
    const payload = Buffer.from(message.payload, "base64");
    const details = message.details === null ? null : Buffer.from(message.details, "base64");
    const { properties } = decodeUplinkDetails(details);
    const { session } = call;
    const origin = { device, connection: 0, session, ip: "" };
    const uplink = { topic, payload, qos, messageID, dup, retain: false, properties };
    const kept = new Promise<void>((resolve) => {
      publishUplink({ ...shard, now }, origin, uplink, refused, isHeavy ? cost : 0, resolve);
    });
    return { kept };
  }

  async function take(call: BrokerTake): Promise<boolean[]> {
    const shard = requireShard(call);
    const taken: OnItsWay[] = [];
    for (const message of call.messages) {
      const one = await takeOne(call, shard, message);
      // Later messages of the call must not overtake it.
      if (one === null) break;
      taken.push(one);
    }
    await whileOpen(shard, Promise.all(taken.map(({ kept }) => kept)));
    return call.messages.map((_, i) => i < taken.length);
  }

  async function taken(call: BrokerTaken): Promise<string[]> {
    const shard = requireShard(call);
    return [...(await whileOpen(shard, shard.takenBefore(call.device)))];
  }

  return {
    answer: async (call) => {
      if (call.call === "brokerBegin") return begin(call);
      return call.call === "brokerTake" ? take(call) : taken(call);
    },
  };
}

/** A journal that has closed calls back for nothing that was on its way. */
async function whileOpen<T extends object>({ closed }: LocalShard, work: Promise<T>): Promise<T> {
  const done = await orAborted(work, closed);
  if (done === undefined) throw new Error("the shard has closed");
  return done;
}
