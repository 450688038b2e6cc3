/** Whether any broker of the cluster answers this process, whichever leads what. */
import { asError, StoreError } from "../../lib/errors.js";
import { type Address, type BrokerLink, openBrokerLink } from "./broker-link.js";
import { createKnownBrokers, withAddress } from "./known-brokers.js";
import { attemptTimeMs } from "./leader-finder.js";
import type { LinkSecurity } from "./link-security.js";
import { calls } from "./protocol.js";

export interface BrokersReach {
  /** Resolves once one has answered. One call at a time. @throws StoreError why one of them has not */
  ask(): Promise<void>;
  /** Ends a request that is under way. */
  close(): void;
}

interface ReachOptions {
  readonly brokers: readonly Address[];
  readonly clientID: string;
  readonly security?: LinkSecurity | undefined;
}

/** Asked at the same time, once the one that has answered before does not; the next time others have their turn. */
const triedAtOnceMax = 4;
/** The most bytes of an answer: enough for the names of some hundred brokers. */
const answerBytesMax = 1 << 18;

/** Nothing is connected yet. */
export function createBrokersReach({ brokers, clientID, security }: ReachOptions): BrokersReach {
  const known = createKnownBrokers(brokers);
  let turn = 0;
  let current: BrokerLink | null = null;
  let isClosed = false;

  async function askOver(link: BrokerLink): Promise<BrokerLink> {
    try {
      // Asks about no topic: only the brokers are wanted.
      const answer = await link.call(calls.metadata, [[], false, false], attemptTimeMs);
      known.learn(withAddress(answer.brokers));
      return link;
    } catch (error) {
      link.close();
      throw error;
    }
  }

  async function askAt(address: Address): Promise<BrokerLink> {
    return askOver(
      await openBrokerLink(address, { clientID, timeMs: attemptTimeMs, answerBytesMax, security }),
    );
  }

  async function askSome(): Promise<void> {
    const { all } = known;
    const tried = all.slice(0, triedAtOnceMax).map((_, i) => all[(turn + i) % all.length] as Address);
    turn = (turn + tried.length) % all.length;
    const attempts = tried.map(askAt);
    const first = Promise.any(attempts).catch((error: AggregateError) => {
      throw asError(error.errors[0]);
    });
    for (const attempt of attempts) {
      // One link is enough.
      const closeOthers = async (link: BrokerLink) => {
        if (link !== (await first)) link.close();
      };
      void attempt.then(closeOthers).catch(() => undefined);
    }
    current = await first;
    if (isClosed) current.close();
  }

  return {
    ask: async () => {
      // Also if the time is over for which its user is authenticated.
      if (current?.isOpen === false) current.close();
      if (current !== null) current = await askOver(current).catch(() => null);
      if (isClosed) throw new StoreError("UNAVAILABLE", "it is closed");
      if (current === null) await askSome();
    },
    close: () => {
      isClosed = true;
      current?.close();
    },
  };
}
