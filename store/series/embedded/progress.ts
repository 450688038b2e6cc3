import { shardOfID } from "../../journal/shard-ids.js";
import type { Checkpoints } from "./checkpoints.js";

export interface Progress {
  begin(through: number): void;
  succeed(through: number): void;
  fail(through: number): void;
  /** By shard, the highest journal id with nothing open at or below it; another map once any of them has moved. */
  settled(): Checkpoints;
}

interface ShardProgress extends Pick<Progress, "begin"> {
  end(through: number, failed: number): void;
  settled(): number;
}

/**
 * Follows overlapping batches of several journals: the checkpoint of a shard stays below each of its batches that is
 * open or has failed, until a call with the same `through` succeeds. Those of other shards do not hold it back.
 */
export function createReadProgress(checkpoints: Checkpoints): Progress {
  const shards = new Map<number, ShardProgress>();
  let settled = checkpoints;

  function end(through: number, failed: number): void {
    const shard = shardOfID(through);
    const progress = shards.get(shard);
    if (progress === undefined) return;
    progress.end(through, failed);
    const id = progress.settled();
    if (id > (settled.get(shard) ?? 0)) settled = new Map(settled).set(shard, id);
  }

  return {
    begin: (through) => {
      const shard = shardOfID(through);
      const progress = shards.get(shard) ?? createShardProgress(settled.get(shard) ?? 0);
      shards.set(shard, progress);
      progress.begin(through);
    },
    succeed: (through) => end(through, 0),
    fail: (through) => end(through, 1),
    settled: () => settled,
  };
}

function createShardProgress(checkpoint: number): ShardProgress {
  const open = new Map<number, { running: number; failed: number }>();
  let done: number[] = [];
  let settled = checkpoint;

  return {
    begin: (through) => {
      if (through <= settled) return;
      const batch = open.get(through) ?? { running: 0, failed: 0 };
      batch.running++;
      if (batch.failed > 0) batch.failed--;
      open.set(through, batch);
    },
    end: (through, failed) => {
      const batch = open.get(through);
      if (batch === undefined) return;
      batch.running--;
      batch.failed += failed;
      if (batch.running === 0 && batch.failed === 0) {
        open.delete(through);
        done.push(through);
      }
      const lowestOpen = Math.min(...open.keys());
      settled = Math.max(settled, ...done.filter((id) => id < lowestOpen));
      done = done.filter((id) => id > settled);
    },
    settled: () => settled,
  };
}
