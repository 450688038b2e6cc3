/**
 * Indexes the journal's segments, the newest in memory and closed ones in the file, and reports what they have lost.
 */

import { dirname } from "node:path";
import type { Damage } from "../files/damage.js";
import { isDamage } from "../files/database-faults.js";
import type { RecordPeek } from "../journal/frame.js";
import type { Journal } from "../journal/journal.js";
import type { Segment } from "../journal/segment.js";
import { shardOfID } from "../journal/shard-ids.js";
import { asError, StoreError } from "../lib/errors.js";
import { createSegmentIndex, type SegmentIndex } from "./event-postings.js";
import type { RepairedIndex } from "./repaired-index.js";

interface SegmentIndexing {
  /** The segments of the attached journal, ascending. */
  segments(): readonly Segment[];
  /** The shard of the attached journal; null before that. */
  readonly shard: number | null;
  /** Indexes of segments that the file does not cover yet: the newest, and those being written. */
  readonly live: ReadonlyMap<Segment, SegmentIndex>;
  /**
   * Binds the journal and indexes what earlier runs left.
   * @throws StoreError UNAVAILABLE once the signal is aborted; what has been indexed by then stays so
   */
  attach(journal: Journal, signal?: AbortSignal): Promise<void>;
  /** Indexes the closed segments that the file does not cover yet. */
  indexClosed(): Promise<void>;
  onRecord(segment: Segment, position: number, record: RecordPeek): void;
  onSegmentClosed(segment: Segment): void;
  /** Has the damage of a segment reported, once; the reader that met it goes on. */
  lookAt(segment: Segment): void;
  forget(segment: Segment): void;
}

export function createSegmentIndexing(
  index: RepairedIndex,
  onDamage: (damage: Damage) => void,
): SegmentIndexing {
  const live = new Map<Segment, SegmentIndex>();
  let journal: Journal | null = null;
  /** First ids of the segments whose damage has been looked for. */
  const looked = new Set<number>();

  async function indexClosed(signal?: AbortSignal): Promise<void> {
    for (const segment of journal?.segments.slice(0, -1) ?? []) {
      if (signal?.aborted === true)
        throw new StoreError("UNAVAILABLE", "the segments are not all indexed yet");
      if (!index.indexed.has(segment.firstID)) await indexSegment(segment);
    }
  }

  async function indexSegment(segment: Segment): Promise<void> {
    if (!index.indexed.has(segment.firstID)) await index.request({ kind: "index", ...withNext(segment) });
    live.delete(segment);
  }

  function findLiveIndex(segment: Segment): SegmentIndex {
    let own = live.get(segment);
    if (own === undefined) {
      own = createSegmentIndex();
      live.set(segment, own);
    }
    return own;
  }

  /** A segment and where the next one begins. */
  function withNext(segment: Segment) {
    const all = journal?.segments ?? [];
    const next = all[all.indexOf(segment) + 1];
    const endID = next?.firstID ?? Number.MAX_SAFE_INTEGER;
    return { segment: { ...segment }, endID, afterID: next?.afterID ?? 0 };
  }

  function lookAt(segment: Segment): void {
    if (looked.has(segment.firstID)) return;
    looked.add(segment.firstID);
    index.request({ kind: "look", ...withNext(segment) }).catch(index.onFailure);
  }

  async function attach(opened: Journal, signal?: AbortSignal): Promise<void> {
    journal = opened;
    const { segments } = opened;
    const present = new Set(segments.map((segment) => segment.firstID));
    try {
      for (const segment of shortened(segments, index.indexed)) lookAt(segment);
      for (const loss of lostSegments(segments, index.indexed)) onDamage(loss);
      for (const firstID of index.indexed.keys()) {
        if (!present.has(firstID)) await index.request({ kind: "forget", firstID });
      }
      await indexClosed(signal);
    } catch (error) {
      if (!isDamage(error)) throw error;
      await index.remake(asError(error).message);
    }
  }

  return {
    segments: () => journal?.segments ?? [],
    get shard() {
      return journal === null ? null : shardOfID(journal.committedID);
    },
    live,
    attach,
    indexClosed: () => indexClosed(),
    onRecord: (segment, position, record) => {
      findLiveIndex(segment).add(position, record);
    },
    onSegmentClosed: (segment) => {
      indexSegment(segment).catch((error: unknown) => {
        // A segment that retention has unlinked meanwhile needs no index.
        if (journal?.segments.includes(segment) !== false) index.onFailure(error);
      });
    },
    lookAt,
    forget: (segment) => {
      looked.delete(segment.firstID);
      live.delete(segment);
      index.request({ kind: "forget", firstID: segment.firstID }).catch(index.onFailure);
    },
  };
}

type Indexed = ReadonlyMap<number, number | null>;

/** Segments that are shorter than they were when they were indexed. */
const shortened = (segments: readonly Segment[], indexed: Indexed): Segment[] =>
  segments.filter((segment) => segment.bytes < (indexed.get(segment.firstID) ?? 0));

/** Segments that the index knows and that are gone. */
function* lostSegments(segments: readonly Segment[], indexed: Indexed): Generator<Damage> {
  const [oldest] = segments;
  for (const [firstID, bytes] of indexed) {
    // Retention takes segments from the front. A segment of the present format itself knows the one before it.
    const next = segments.find((segment) => segment.firstID >= firstID);
    if (oldest === undefined || firstID < oldest.firstID || next?.firstID === firstID) continue;
    if (next === undefined || next.previousID !== null) continue;
    const what = `the segment of records ${firstID} to ${next.afterID} is gone`;
    yield { part: "journal", file: dirname(next.path), what, lostBytes: bytes ?? 0 };
  }
}
