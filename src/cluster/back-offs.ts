/** What has failed is tried again after delays that grow. */
import { retryDelays } from "../../store/lib/retry.js";

/** Milliseconds: each delay is twice the one before, up to the longest. */
interface Delays {
  readonly first: number;
  readonly longest: number;
}

interface BackOff {
  readonly isWaiting: boolean;
  failed(): void;
  worked(): void;
}

/** Of one kind of work, by shard. */
interface ShardBackOffs {
  isWaiting(shard: number): boolean;
  failed(shard: number): void;
  worked(shard: number): void;
  /** Those that are waiting. */
  waiting(): number[];
  /** As if nothing had failed. */
  clear(): void;
}

/** @param monotonic milliseconds; never set */
export function createBackOff({ first, longest }: Delays, monotonic: () => number): BackOff {
  let delays = retryDelays(first, longest);
  let until = 0;
  return {
    get isWaiting() {
      return until > monotonic();
    },
    failed: () => {
      until = monotonic() + delays.next().value;
    },
    worked: () => {
      delays = retryDelays(first, longest);
      until = 0;
    },
  };
}

/** @param monotonic milliseconds; never set */
export function createShardBackOffs(delays: Delays, monotonic: () => number): ShardBackOffs {
  const known = new Map<number, BackOff>();
  const isWaiting = (shard: number): boolean => known.get(shard)?.isWaiting === true;
  return {
    isWaiting,
    failed: (shard) => {
      const backOff = known.get(shard) ?? createBackOff(delays, monotonic);
      known.set(shard, backOff);
      backOff.failed();
    },
    worked: (shard) => {
      known.delete(shard);
    },
    waiting: () => [...known.keys()].filter(isWaiting),
    clear: () => known.clear(),
  };
}
