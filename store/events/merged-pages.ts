/** A page of a list of events over several journals, newest first. */

import type { JournalRecord } from "../journal/record.js";
import { contentBytes, copyRecord } from "../journal/record-codecs.js";
import { createPageBudget } from "../metadata/db/page-bytes.js";
import { type EventPage, type EventQuery, eventScanRowsMax, readEventRows } from "./event-pages.js";
import type { EventSequence } from "./event-sequence.js";
import { visitMerged } from "./merged-rows.js";
import { findStart, nearRows } from "./merged-start.js";

export interface MergeBounds {
  /** Rows that one list may look at. */
  readonly scanRowsMax: number;
  /** Rows before a page that are read rather than avoided. */
  readonly nearRows: number;
}

export const mergeBounds: MergeBounds = { scanRowsMax: eventScanRowsMax, nearRows };

/**
 * Reads the same as a page of one log. Each sequence keeps its order; between them the time of receipt decides, then
 * the id. A page that begins or ends more than `scanRowsMax` rows after the nearest known place is `truncated` there.
 */
export function pageOfMerged(
  sequences: readonly EventSequence[],
  query: EventQuery,
  bounds: MergeBounds,
): Promise<EventPage> {
  // Ids of a higher shard are higher. Most lists of a device are of one shard alone.
  const sorted = sequences.filter(({ runs }) => runs.length > 0).sort((a, b) => b.shard - a.shard);
  return query.matches === undefined ? listPlain(sorted, query, bounds) : listMatching(sorted, query, bounds);
}

async function listPlain(
  sequences: readonly EventSequence[],
  { page, limit, skipsDamaged = false }: EventQuery,
  bounds: MergeBounds,
): Promise<EventPage> {
  const count = sequences.reduce((sum, { runs }) => sum + runs.reduce((own, run) => own + run.count, 0), 0);
  const wanted = (page - 1) * limit;
  if (wanted >= count) return { items: [], count, truncated: false };
  const { taken, rowsBefore } = await findStart(sequences, wanted, bounds.nearRows);
  if (rowsBefore >= bounds.scanRowsMax) return { items: [], count, truncated: true };
  const items: JournalRecord[] = [];
  const budget = createPageBudget();
  let looked = 0;
  let cut = false;
  const end = rowsBefore + limit;
  await visitMerged(sequences, taken, Math.min(readEventRows, end), ({ record }) => {
    cut = looked === bounds.scanRowsMax;
    if (cut) return false;
    looked++;
    if (looked > rowsBefore && record !== null && budget.fits(contentBytes(record))) {
      items.push(copyRecord(record));
    }
    return !budget.full && (skipsDamaged ? items.length < limit : looked < end);
  });
  return { items, count, truncated: cut || budget.full };
}

/** Looks at no more than `scanRowsMax` rows of all, newest first; the count is of the matches among them. */
async function listMatching(
  sequences: readonly EventSequence[],
  { page, limit }: EventQuery,
  bounds: MergeBounds,
): Promise<EventPage> {
  const from = (page - 1) * limit;
  const begins = sequences.map(() => 0);
  const items: JournalRecord[] = [];
  const budget = createPageBudget();
  let count = 0;
  let looked = 0;
  let cut = false;
  await visitMerged(sequences, begins, readEventRows, ({ record }) => {
    cut = looked === bounds.scanRowsMax;
    if (cut) return false;
    looked++;
    if (record === null) return true;
    // Matches are counted even when the page is full.
    if (count >= from && items.length < limit && budget.fits(contentBytes(record))) {
      items.push(copyRecord(record));
    }
    count++;
    return true;
  });
  return { items, count, truncated: cut || budget.full };
}
