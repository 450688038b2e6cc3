import { StoreError } from "../../lib/errors.js";
import { type BrokerLink, openBrokerLink } from "./broker-link.js";
import { attemptTimeMs, type Leader, type LeaderFinder } from "./leader-finder.js";
import type { LinkSecurity } from "./link-security.js";

/** A connection to the partition's leader for one kind of calls: a broker answers those of a connection in order. */
export interface LeaderLane {
  /** The open link, or a new one to who leads now. @throws StoreError UNAVAILABLE, DENIED, MISMATCH */
  link(timeMs: number): Promise<{ readonly link: BrokerLink; readonly leader: Leader }>;
  /** The leader is to be looked for again. */
  drop(): void;
  close(): void;
}

interface LaneOptions {
  readonly finder: LeaderFinder;
  readonly clientID: string;
  readonly answerBytesMax: number;
  readonly security?: LinkSecurity | undefined;
}

export function createLeaderLane(options: LaneOptions): LeaderLane {
  const { finder } = options;
  let current: { link: BrokerLink; leader: Leader } | null = null;
  let opening: Promise<{ link: BrokerLink; leader: Leader }> | null = null;
  let isClosed = false;

  function drop(): void {
    if (current === null) return;
    current.link.close();
    current = null;
    finder.doubt();
  }

  async function open(timeMs: number): Promise<{ link: BrokerLink; leader: Leader }> {
    const deadline = performance.now() + timeMs;
    const leader = await finder.find(timeMs);
    const left = Math.min(attemptTimeMs, deadline - performance.now());
    const link = await openBrokerLink(leader.address, { ...options, timeMs: left }).catch(
      (error: unknown) => {
        finder.doubt();
        throw error;
      },
    );
    if (isClosed) {
      link.close();
      throw new StoreError("UNAVAILABLE", "the log is closed");
    }
    current = { link, leader };
    return current;
  }

  return {
    link: async (timeMs) => {
      if (current?.link.isOpen === true) return current;
      drop();
      opening ??= open(timeMs).finally(() => {
        opening = null;
      });
      return opening;
    },
    drop,
    close: () => {
      isClosed = true;
      current?.link.close();
      current = null;
    },
  };
}
