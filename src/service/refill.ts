import type { LostPoints } from "../../ingest/consumers/replay.js";
import type { SeriesConsumer } from "../../ingest/consumers/series.js";
import type { Journal } from "../../store/journal/journal.js";
import type { Segment } from "../../store/journal/segment.js";
import { isUnavailable } from "../../store/lib/errors.js";
import { retryUntil } from "../../store/lib/retry.js";
import type { Logger } from "../observability/log.js";

/** Writes lost points again from the messages that the journal still holds. */
export interface Refill {
  /** Resolves once the points of a gap are written again; rejects if the service stops first. */
  fill(gap: LostPoints): Promise<void>;
  /** Begins, now that the journals, which hold the messages, and their consumers, which decode them, are there. */
  begin(sources: readonly RefillSource[]): void;
  stop(): void;
}

/** The source of one shard. */
export interface RefillSource {
  readonly journal: Pick<Journal, "segments" | "committedID">;
  readonly consumer: Pick<SeriesConsumer, "refill">;
}

/** How far a message's times may be ahead of its receipt, by a clock that may have been set. */
const aheadMicros = 3_600e6;
const retryDelayMs = { first: 1000, longest: 1000 } as const;

/**
 * Works one segment at a time, so that new messages never wait for more; the newest first, because the latest value
 * counts.
 */
export function createSeriesRefill(log: Logger): Refill {
  const stopping = new AbortController();
  let begin: (sources: readonly RefillSource[]) => void = () => undefined;
  const begun = new Promise<readonly RefillSource[]>((resolve) => {
    begin = resolve;
  });
  let last: Promise<unknown> = Promise.resolve();

  async function fillNow(gap: LostPoints): Promise<void> {
    const sources = await begun;
    let points = 0;
    for (const { source, segment } of newestFirst(sources, gap))
      points += await fillFrom(source, segment, gap);
    const began = sources.flatMap(({ journal }) => journal.segments[0]?.createdAt ?? []);
    log.info("lost points of kept events are written again", {
      points,
      from: iso(gap.start),
      to: iso(gap.stop),
      series: gap.series,
      eventsSince: began.length === 0 ? null : iso(Math.min(...began) * 1000),
    });
  }

  function fillFrom({ journal, consumer }: RefillSource, segment: Segment, gap: LostPoints): Promise<number> {
    const { signal } = stopping;
    const fillOnce = async (): Promise<number> => {
      signal.throwIfAborted();
      const at = journal.segments.indexOf(segment);
      // Retention has removed the segment since.
      if (at < 0) return 0;
      const end = (journal.segments[at + 1]?.firstID ?? journal.committedID + 1) - 1;
      return await consumer.refill(gap, segment.firstID - 1, end);
    };
    return retryUntil(fillOnce, { signal, delayMs: retryDelayMs, isTransient: isUnavailable });
  }

  return {
    fill: (gap) => {
      const filled = last.then(() => fillNow(gap));
      last = filled.catch((error: unknown) => {
        if (!stopping.signal.aborted)
          log.warn("cannot write lost points again; the next start tries", { error });
      });
      return filled;
    },
    begin,
    stop: () => stopping.abort(),
  };
}

interface RetainedSegment {
  readonly source: RefillSource;
  readonly segment: Segment;
}

/**
 * Segments that may hold messages of the gap's times, newest first. Those of one journal stay in their order, also where
 * the clock was set back between them.
 */
function* newestFirst(sources: readonly RefillSource[], gap: LostPoints): Generator<RetainedSegment> {
  const left = sources.map((source) => ({ source, segments: listSegments(source, gap) }));
  for (;;) {
    const heads = left.flatMap(({ source, segments: [segment] }) => (segment ? [{ source, segment }] : []));
    const [newest] = heads.sort((a, b) => b.segment.createdAt - a.segment.createdAt);
    if (newest === undefined) return;
    left.find(({ source }) => source === newest.source)?.segments.shift();
    yield newest;
  }
}

/** The segments of one journal that may hold messages of the gap's times, newest first. */
function listSegments({ journal: { segments } }: RefillSource, { start }: LostPoints): Segment[] {
  // The first segment that ends late enough: the clock of later ones may have been set back.
  const from = segments.findIndex((_, i) => {
    const next = segments[i + 1];
    return next === undefined || next.createdAt * 1000 > start - aheadMicros;
  });
  return segments.slice(Math.max(0, from)).reverse();
}

const iso = (micros: number): string => new Date(micros / 1000).toISOString();
