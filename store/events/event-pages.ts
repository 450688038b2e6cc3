/** A page of a list of events, newest first, read from one source for each segment. */

import type { JournalRecord } from "../journal/record.js";
import { contentBytes, copyRecord } from "../journal/record-codecs.js";
import { createSlice } from "../lib/scheduling.js";
import { createPageBudget } from "../metadata/db/page-bytes.js";
import type { Log } from "./event-postings.js";
import { type EventSource, type ReceivedSpan, reaching } from "./event-source.js";

export interface EventQuery {
  /** One log, or several merged by id. */
  readonly log: Log | readonly Log[];
  readonly tenant: number;
  /** Record ids; null means every device of the tenant. */
  readonly devices: readonly number[] | null;
  readonly page: number;
  readonly limit: number;
  /** Searches only what was received in [start, stop), microseconds: `matches` must check this as well. */
  readonly received?: ReceivedSpan;
  /** Checked record by record, so that `scanRowsMax` bounds such a list. */
  readonly matches?: (record: JournalRecord) => boolean;
  /**
   * `limit` counts records instead of places: it is the first page, and a damaged record, which leaves its place on a
   * page empty, is made up for by the next one. For lists that are merged from the first pages of several.
   */
  readonly skipsDamaged?: boolean;
}

export interface EventPage {
  readonly items: JournalRecord[];
  readonly count: number;
  readonly truncated: boolean;
}

/** Rows that a filter on topic or IP may look at before its list is truncated. */
export const eventScanRowsMax = 100_000;

/** Offsets fetched at once from the index, which goes over those before them each time. */
export const readEventRows = 10_000;
/** Records between two looks at the clock: payloads may be long. */
export const stepRecords = 16;

export function readPage(sources: readonly EventSource[], query: EventQuery): Promise<EventPage> {
  return query.matches === undefined
    ? listPlain(sources, query)
    : listMatching(sources, query, query.matches);
}

async function listPlain(sources: readonly EventSource[], query: EventQuery): Promise<EventPage> {
  const count = sources.reduce((sum, source) => sum + source.count, 0);
  const page = createPageBudget();
  const items: JournalRecord[] = [];
  let toSkip = (query.page - 1) * query.limit;
  // The next page begins so many places further on, whether or not the records there can be read.
  let places = 0;
  const left = () => query.limit - (query.skipsDamaged === true ? items.length : places);
  for (const source of sources) {
    for (; toSkip < source.count && left() > 0 && !page.full; ) {
      const take = Math.min(left(), source.count - toSkip);
      const offsets = await source.offsets(toSkip, take);
      toSkip += take;
      places += take;
      for await (const records of source.read(offsets)) {
        for (const record of records) {
          if (record !== null && page.fits(contentBytes(record))) items.push(copyRecord(record));
        }
        if (page.full) break;
      }
    }
    if (left() <= 0 || page.full) break;
    toSkip = Math.max(0, toSkip - source.count);
  }
  return { items, count, truncated: page.full };
}

/** Looks at no more than `scanRowsMax` rows, newest first; the count is of the matches among them. */
async function listMatching(
  sources: readonly EventSource[],
  query: EventQuery,
  matches: (record: JournalRecord) => boolean,
): Promise<EventPage> {
  const from = (query.page - 1) * query.limit;
  const page = createPageBudget();
  const items: JournalRecord[] = [];
  let count = 0;
  let looked = 0;
  const slice = createSlice();
  for (const source of query.received === undefined ? sources : reaching(sources, query.received)) {
    for (let skip = 0; skip < source.count; skip += readEventRows) {
      if (looked >= eventScanRowsMax) return { items, count, truncated: true };
      const offsets = await source.offsets(skip, Math.min(readEventRows, eventScanRowsMax - looked));
      looked += offsets.length;
      for await (const records of source.read(offsets)) {
        for (const [i, record] of records.entries()) {
          // A list may look at a hundred thousand records.
          if (i % stepRecords === 0 && slice.isOver()) await slice.next();
          if (record === null || !matches(record)) continue;
          // Matches are counted even when the page is full.
          if (count >= from && items.length < query.limit && page.fits(contentBytes(record))) {
            items.push(copyRecord(record));
          }
          count++;
        }
      }
    }
  }
  return { items, count, truncated: page.full };
}
