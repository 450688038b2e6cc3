/**
 * Which shards this node does not want for the time being. One that it could not open is another's turn meanwhile. And
 * as long as it has only failed, it wants none of those that others have: each would be away while it is tried here.
 */
import { createBackOffs } from "../../store/lib/back-off.js";
import type { ShardPicture } from "./shard-plan.js";

export interface Refusals {
  refuses(shard: number): boolean;
  /** The shard could not be opened. */
  failed(shard: number): void;
  /** The shard is open. */
  worked(shard: number): void;
  /** Forgets failures: their reason may be gone. */
  clear(): void;
  /** In ascending order. */
  list(picture: ShardPicture): readonly number[];
}

/** The first gives others the time to take the shard; the longest is what a shard waits for that nobody could open. */
const shardDelayMs = { first: 10_000, longest: 120_000 } as const;
/** The first ends before a shard's, so that the node can have its share of those that it has not tried. */
const othersDelayMs = { first: 5000, longest: 300_000 } as const;

/** @param monotonic milliseconds; never set */
export function createRefusals(monotonic: () => number): Refusals {
  const shards = createBackOffs<number>(shardDelayMs, monotonic);
  const others = createBackOffs<"others">(othersDelayMs, monotonic);

  const ofOthers = ({ holders, sharing, self }: ShardPicture): number[] =>
    holders.flatMap((holder, shard) =>
      holder !== self && sharing.some(({ number }) => number === holder) ? [shard] : [],
    );

  return {
    refuses: shards.isWaiting,
    failed: (shard) => {
      shards.failed(shard);
      // Several that fail together have failed once.
      if (!others.isWaiting("others")) others.failed("others");
    },
    worked: (shard) => {
      shards.worked(shard);
      others.worked("others");
    },
    clear: () => {
      shards.clear();
      others.worked("others");
    },
    list: (picture) => {
      const all = new Set([
        ...shards.subjects().filter(shards.isWaiting),
        ...(others.isWaiting("others") ? ofOthers(picture) : []),
      ]);
      return [...all].toSorted((a, b) => a - b);
    },
  };
}
