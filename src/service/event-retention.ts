/**
 * Unlinks old segments: those past every checkpoint, and past the days or the bytes that events are kept. Each shard has
 * a part of the bytes for good: what else is here, or on another node, deletes none of its events.
 */
import type { EventLog } from "../../store/events/events.js";
import type { Journal } from "../../store/journal/journal.js";
import type { Segment } from "../../store/journal/segment.js";
import { createLock } from "../../store/lib/scheduling.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../observability/log.js";
import type { SessionSnapshots } from "./session-snapshots.js";
import { shardPart } from "./shard-part.js";
import type { ShardPipeline } from "./shard-pipeline.js";

type RetainedShard = Pick<ShardPipeline, "savedAlertsID"> & {
  readonly shard: Pick<ShardPipeline["shard"], "number"> & {
    readonly saved: Pick<ShardPipeline["shard"]["saved"], "savedID">;
    readonly journal: Pick<Journal, "segments" | "drop">;
    readonly events: Pick<EventLog, "forget">;
    readonly snapshots: SessionSnapshots | null;
  };
};

interface EventRetentionDeps {
  readonly config: Pick<Config, "eventRetentionDays" | "eventRetentionBytes" | "shards" | "cluster">;
  readonly pipelines: { readonly all: readonly RetainedShard[] };
  readonly series: SettledIDs;
  /** Whether everything is to stay as it is for now. */
  readonly isHeld: () => boolean;
  /** Ends it: a shard's sessions may take long to be copied. */
  readonly ending: AbortSignal;
  readonly log: Pick<Logger, "info" | "warn">;
  /** By which it removes, milliseconds since 1970. */
  readonly now: () => number;
}

/** The part of the series store that knows up to which journal id of a shard all points are on disk. */
interface SettledIDs {
  checkpoint(shard: number): Promise<number>;
}

const dayMs = 86_400_000;

/** The returned function removes, in all local shards, the segments that need not be kept any more. */
export function createEventRetention(deps: EventRetentionDeps): () => Promise<void> {
  const { config, pipelines, series, isHeld, ending, log, now } = deps;
  const bytesMax = shardPart(config.eventRetentionBytes, config);
  /** Shards whose segments could not be removed the last time: this is logged once. */
  const failing = new WeakSet<RetainedShard>();
  const isOver = (): boolean => ending.aborted || isHeld();
  /** One copies its sessions at a time: a node may have many shards, and one disk. */
  const copying = createLock();
  const renew = (snapshots: SessionSnapshots): Promise<void> =>
    copying(async () => (isOver() ? undefined : snapshots.renew(ending)));

  async function apply(one: RetainedShard): Promise<void> {
    const { journal, events, snapshots } = one.shard;
    const settled = {
      checkpoint: await computeCheckpoint(one, series),
      endedBefore: now() - config.eventRetentionDays * dayMs,
      bytesMax,
    };
    const checkpoint =
      snapshots === null ? settled.checkpoint : await coveredID(snapshots, journal.segments, settled, renew);
    for (const segment of listRemovable(journal.segments, { ...settled, checkpoint })) {
      if (isOver()) return;
      const next = journal.segments[journal.segments.indexOf(segment) + 1];
      await journal.drop(segment);
      events.forget(segment);
      log.info("segment unlinked", {
        path: segment.path,
        bytes: segment.bytes,
        ...segmentRange(segment, next),
      });
      if (failing.delete(one)) log.info("segments can be let go again", { shard: one.shard.number });
    }
  }

  /** The log of one shard may be away: those of others are not. */
  async function attempt(one: RetainedShard): Promise<void> {
    try {
      await apply(one);
    } catch (error) {
      // A shard that has left this node is no longer ours.
      if (ending.aborted || failing.has(one) || !pipelines.all.includes(one)) return;
      failing.add(one);
      log.warn("cannot let segments go", { shard: one.shard.number, error });
    }
  }

  return async () => {
    await Promise.all(pipelines.all.map(attempt));
  };
}

/** The journal id up to which nothing of a shard needs its journal any more. */
export async function computeCheckpoint(
  { shard: { number, saved }, savedAlertsID }: RetainedShard,
  series: SettledIDs,
): Promise<number> {
  return Math.min(await series.checkpoint(number), saved.savedID, savedAlertsID);
}

/**
 * The checkpoint as far as a snapshot of the sessions covers it. A new one is asked for when the oldest segment that is to
 * go is not covered.
 */
async function coveredID(
  snapshots: SessionSnapshots,
  segments: readonly Segment[],
  bounds: Bounds,
  renew: (snapshots: SessionSnapshots) => Promise<void>,
): Promise<number> {
  const covered = (): Bounds => ({
    ...bounds,
    checkpoint: Math.min(bounds.checkpoint, snapshots.coveredID),
  });
  if (listRemovable(segments, bounds).length > 0 && listRemovable(segments, covered()).length === 0) {
    await renew(snapshots);
  }
  return covered().checkpoint;
}

/** For the log: the records that go with a segment, and when they came. */
function segmentRange(
  { firstID, createdAt }: Pick<Segment, "firstID" | "createdAt">,
  next: Pick<Segment, "afterID" | "createdAt"> | undefined,
) {
  const from = new Date(createdAt).toISOString();
  if (next === undefined) return { from };
  const to = new Date(next.createdAt).toISOString();
  return { records: Math.max(0, next.afterID - firstID + 1), from, to };
}

interface Bounds {
  /** Records after this id are needed. */
  readonly checkpoint: number;
  /** Segments that ended before that are old, milliseconds since 1970. */
  readonly endedBefore: number;
  /** The most bytes of all segments together. */
  readonly bytesMax: number;
}

/** Returns the segments of a journal that are to be removed, oldest first as `segments` is; never the newest. */
export function listRemovable<T extends Pick<Segment, "firstID" | "createdAt" | "bytes">>(
  segments: readonly T[],
  { checkpoint, endedBefore, bytesMax }: Bounds,
): readonly T[] {
  let bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
  // The clock may have been set back between two segments: neither ended before it began, or before the one in front.
  let endedAt = Number.NEGATIVE_INFINITY;
  const first = segments.findIndex((segment, i) => {
    const next = segments[i + 1];
    if (next === undefined || next.firstID - 1 > checkpoint) return true;
    endedAt = Math.max(endedAt, segment.createdAt, next.createdAt);
    if (endedAt >= endedBefore && bytes <= bytesMax) return true;
    bytes -= segment.bytes;
    return false;
  });
  return segments.slice(0, Math.max(0, first));
}
