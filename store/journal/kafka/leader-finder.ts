import { StoreError } from "../../lib/errors.js";
import { type Address, openBrokerLink } from "./broker-link.js";
import { createKnownBrokers, withAddress } from "./known-brokers.js";
import type { LinkSecurity } from "./link-security.js";
import { calls, describeCode, kafkaCodes, toErrorKind } from "./protocol.js";

export interface Leader {
  readonly address: Address;
  readonly topicID: string;
}

/** Asks the cluster who leads the partition: one broker at each call, another after each failure. */
export interface LeaderFinder {
  /**
   * @throws StoreError UNAVAILABLE if no broker can name it now, DENIED if we may not ask, MISMATCH if the topic is
   *   another one than before, and as `openLink`
   */
  find(timeMs: number): Promise<Leader>;
  /** Callers report here that a leader did not serve: the broker that named it may know less than others. */
  doubt(): void;
}

interface FinderOptions {
  /** Where the cluster is looked for at first; the brokers that it names are asked too. */
  readonly brokers: readonly Address[];
  readonly topic: string;
  readonly partition: number;
  readonly clientID: string;
  readonly answerBytesMax: number;
  readonly security?: LinkSecurity | undefined;
}

/** Which topic it is that goes by the name: all finders of a log share it. */
interface TopicPin {
  topicID: string | undefined;
}

/** A broker that is frozen must not take all the time that a call has. */
export const attemptTimeMs = 1500;

export function createLeaderFinder(options: FinderOptions, pin: TopicPin): LeaderFinder {
  const { topic, partition, clientID, answerBytesMax, security } = options;
  const known = createKnownBrokers(options.brokers);
  let turn = 0;

  async function ask(timeMs: number) {
    const deadline = performance.now() + Math.min(timeMs, attemptTimeMs);
    const address = known.all[turn % known.all.length];
    if (address === undefined) throw new StoreError("UNAVAILABLE", "no broker is known");
    const left = () => deadline - performance.now();
    const link = await openBrokerLink(address, { clientID, timeMs: left(), answerBytesMax, security });
    try {
      return await link.call(calls.metadata, [[topic], false, false], left());
    } finally {
      link.close();
    }
  }

  async function find(timeMs: number): Promise<Leader> {
    const { brokers, topics } = await ask(timeMs);
    const named = withAddress(brokers);
    known.learn(named);
    const found = topics.find(({ name }) => name === topic);
    if (found?.errorCode !== kafkaCodes.none) {
      const code = found?.errorCode ?? kafkaCodes.unknownTopic;
      if (toErrorKind(code) === "DENIED")
        throw new StoreError("DENIED", `cannot use topic ${topic}: ${describeCode(code)}`);
      throw nobody(topic, describeCode(code));
    }
    pin.topicID ??= found.topicId;
    if (found.topicId !== pin.topicID) {
      const change = "it was deleted and made again";
      throw new StoreError("MISMATCH", `cannot go on with topic ${topic}: ${change} since it was opened`);
    }
    const place = found.partitions.find(({ partitionIndex }) => partitionIndex === partition);
    if (place === undefined) throw new StoreError("MISMATCH", `topic ${topic} has no partition ${partition}`);
    const leader = named.find(({ nodeId }) => nodeId === place.leaderId);
    if (leader === undefined) throw nobody(topic, `partition ${partition} has no leader now`);
    return { address: { host: leader.host, port: leader.port }, topicID: pin.topicID };
  }

  const doubt = (): void => {
    turn++;
  };
  return {
    find: async (timeMs) => {
      try {
        return await find(timeMs);
      } catch (error) {
        doubt();
        throw error;
      }
    },
    doubt,
  };
}

function nobody(topic: string, cause: string): StoreError {
  return new StoreError("UNAVAILABLE", `nobody leads topic ${topic}: ${cause}`);
}
