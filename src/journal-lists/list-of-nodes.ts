/** A list of what all nodes of a cluster keep, merged where it is asked for. */
import { z } from "@hono/zod-openapi";
import type { EventPage } from "../../store/events/event-pages.js";
import type { EventLogReading } from "../../store/events/events.js";
import { byReceipt, mergeNewest } from "../../store/events/merge-newest.js";
import { recordSize } from "../../store/journal/frame.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { contentBytes, copyRecord, decodeRecord, encodedRecord } from "../../store/journal/record-codecs.js";
import { createPageBudget } from "../../store/metadata/db/page-bytes.js";
import { askOthers, type OtherNodes } from "./other-nodes.js";
import { type ListQuery, ownList } from "./own-list.js";

/** Rows of one node that a merged page may be made of: pages that end behind them are empty, and truncated. */
const rowsMax = 5000;
/** Of what one node answers: it is read in one turn of the loop. */
const answerBytesMax = 2 * 1024 * 1024;
/** The part of a node that is missing. */
const missing: EventPage = { items: [], count: 0, truncated: true };

/** What a node has of a list: its newest records, encoded one after another. */
const answer = z.strictObject({ count: z.int().nonnegative(), truncated: z.boolean(), records: z.base64() });
export type ListAnswer = z.infer<typeof answer>;

/** Answers another node. */
export async function answerList(
  events: Pick<EventLogReading, "list">,
  query: ListQuery,
): Promise<ListAnswer> {
  const { items, count, truncated } = await ownList(events, query);
  const budget = createPageBudget(answerBytesMax);
  const records: Buffer[] = [];
  for (const record of items) {
    const encoded = encodedRecord(record);
    if (!budget.fits(encoded.length)) break;
    records.push(encoded);
  }
  return { count, truncated: truncated || budget.full, records: Buffer.concat(records).toString("base64") };
}

/** A node that does not answer is missing, and the page says so. */
export async function listOfNodes(
  events: Pick<EventLogReading, "list">,
  query: ListQuery,
  nodes: OtherNodes,
): Promise<EventPage> {
  const { page, limit } = query;
  const end = page * limit;
  const fromStart: ListQuery = { ...query, page: 1, limit: Math.min(end, rowsMax) };
  const asked = askOthers(nodes, { call: "list", query: fromStart }, (_, found) =>
    decoded(answer.parse(found)),
  );
  const own = await ownList(events, fromStart);
  const parts = [own, ...(await asked).map((part) => part ?? missing)];
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const isPart = parts.some(({ truncated }) => truncated);
  const from = end - limit;
  if (end > rowsMax) return { items: [], count, truncated: from < count };
  const items: JournalRecord[] = [];
  const budget = createPageBudget();
  let place = 0;
  for await (const record of mergeNewest(
    parts.map((part) => iterated(part.items)),
    byReceipt,
    end,
  )) {
    if (place++ < from) continue;
    if (!budget.fits(contentBytes(record))) break;
    items.push(record);
  }
  return { items, count, truncated: isPart || budget.full };
}

async function* iterated(records: readonly JournalRecord[]): AsyncGenerator<JournalRecord, void> {
  yield* records;
}

function decoded({ records, ...told }: ListAnswer): EventPage {
  const bytes = Buffer.from(records, "base64");
  const items: JournalRecord[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = recordSize(bytes, at, bytes.length);
    if (size === 0) throw new Error("a record of the answer is cut off");
    items.push(copyRecord(decodeRecord(bytes, at)));
    at += size;
  }
  return { ...told, items };
}
