import { StoreError } from "../../lib/errors.js";
import { createLock } from "../../lib/turns.js";
import { type Address, type BrokerLink, openLink } from "./broker-link.js";
import { calls, codes, describeCode } from "./protocol.js";

export interface Leader {
  readonly address: Address;
  readonly topicID: string;
}

/** Asks the cluster who leads the partition: one broker at each call, another after each failure. */
export interface LeaderFinder {
  /** @throws StoreError UNAVAILABLE if it cannot be told now, MISMATCH if the topic is another one than before */
  find(timeMs: number): Promise<Leader>;
  /** To be told when a leader found did not serve: the broker that named it may know less than others. */
  doubt(): void;
  close(): void;
}

interface FinderOptions {
  /** Where the cluster is looked for at first; the brokers that it names are asked too. */
  readonly brokers: readonly Address[];
  readonly topic: string;
  readonly partition: number;
  readonly clientID: string;
  readonly answerBytesMax: number;
}

/** A broker that is frozen must not take all the time that a call has. */
export const attemptTimeMs = 1500;

export function createLeaderFinder(options: FinderOptions): LeaderFinder {
  const { topic, partition, clientID, answerBytesMax } = options;
  let known: readonly Address[] = options.brokers;
  let turn = 0;
  let link: BrokerLink | null = null;
  let isDoubted = false;
  let topicID: string | undefined;
  let isClosed = false;
  const oneByOne = createLock();

  async function ask(timeMs: number) {
    const deadline = performance.now() + Math.min(timeMs, attemptTimeMs);
    if (isDoubted) {
      link?.close();
      turn++;
      isDoubted = false;
    }
    const address = known[turn % known.length];
    if (address === undefined) throw new StoreError("UNAVAILABLE", "no broker is known");
    const left = () => deadline - performance.now();
    try {
      if (!link?.isOpen) link = await openLink(address, { clientID, timeMs: left(), answerBytesMax });
      if (isClosed) {
        link.close();
        throw new StoreError("UNAVAILABLE", "the log is closed");
      }
      return await link.call(calls.metadata, [[topic], false, false], left());
    } catch (error) {
      isDoubted = true;
      throw error;
    }
  }

  /** The brokers of the cluster as it names them now, before those that we were given. */
  function learn(brokers: readonly Address[]): void {
    const isNew = ({ host, port }: Address) => !brokers.some((one) => one.host === host && one.port === port);
    known = [...brokers, ...options.brokers.filter(isNew)];
  }

  return {
    find: (timeMs) =>
      oneByOne(async () => {
        const { brokers, topics } = await ask(timeMs);
        const named = brokers.filter(({ host, port }) => host !== "" && port > 0 && port < 65_536);
        learn(named);
        const found = topics.find(({ name }) => name === topic);
        if (found?.errorCode !== codes.none) {
          isDoubted = true;
          throw nobody(topic, describeCode(found?.errorCode ?? codes.unknownTopic));
        }
        topicID ??= found.topicId;
        if (found.topicId !== topicID) {
          const change = "it was deleted and made again";
          throw new StoreError("MISMATCH", `cannot go on with topic ${topic}: ${change} since it was opened`);
        }
        const place = found.partitions.find(({ partitionIndex }) => partitionIndex === partition);
        if (place === undefined) {
          throw new StoreError("MISMATCH", `topic ${topic} has no partition ${partition}`);
        }
        const leader = named.find(({ nodeId }) => nodeId === place.leaderId);
        if (leader === undefined) {
          isDoubted = true;
          throw nobody(topic, `partition ${partition} has no leader now`);
        }
        return { address: { host: leader.host, port: leader.port }, topicID };
      }),
    doubt: () => {
      isDoubted = true;
    },
    close: () => {
      isClosed = true;
      link?.close();
    },
  };
}

function nobody(topic: string, cause: string): StoreError {
  return new StoreError("UNAVAILABLE", `nobody leads topic ${topic}: ${cause}`);
}
