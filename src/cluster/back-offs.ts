/** What has failed is tried again after delays that grow. */
import { retryDelays } from "../../store/lib/retry.js";

/** Of one kind of work, by shard. */
interface ShardBackOffs {
  isWaiting(shard: number): boolean;
  failed(shard: number): void;
  worked(shard: number): void;
}

const delayMs = { first: 1000, longest: 60_000 } as const;

/** @param monotonic milliseconds; never set */
export function createShardBackOffs(monotonic: () => number): ShardBackOffs {
  const known = new Map<number, { readonly delays: Generator<number, never>; readonly until: number }>();
  return {
    isWaiting: (shard) => (known.get(shard)?.until ?? 0) > monotonic(),
    failed: (shard) => {
      const delays = known.get(shard)?.delays ?? retryDelays(delayMs.first, delayMs.longest);
      known.set(shard, { delays, until: monotonic() + delays.next().value });
    },
    worked: (shard) => {
      known.delete(shard);
    },
  };
}
