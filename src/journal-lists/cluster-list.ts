/** A list of what all nodes of a cluster keep, merged where it is asked for. */
import { z } from "@hono/zod-openapi";
import type { ShardPlaces } from "../../ingest/directory/by-shard.js";
import type { EventPage } from "../../store/events/event-pages.js";
import { byReceipt, mergeNewest } from "../../store/events/merge-newest.js";
import { recordSize } from "../../store/journal/frame.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { contentBytes, copyRecord, decodeRecord, encodedRecord } from "../../store/journal/record-codecs.js";
import { createPageBudget } from "../../store/metadata/db/page-bytes.js";
import type { LocalLogPage, LocalLogs } from "./local-logs.js";
import { askOthers, type OtherNodes } from "./other-nodes.js";
import { type ListQuery, ownList } from "./own-list.js";

/** Rows of one node that a merged page may be made of: pages that end behind them are empty, and truncated. */
const rowsMax = 5000;
/** The largest answer of one node. It is parsed in one turn of the event loop. */
const answerBytesMax = 2 * 1024 * 1024;
/** The part of a node that is missing. */
const missing: LocalLogPage = { items: [], count: 0, truncated: true, shards: [] };

/** What a node has of a list: of which shards, and their newest records, encoded one after another. */
const answer = z.strictObject({
  shards: z.array(z.int().nonnegative()).readonly(),
  count: z.int().nonnegative(),
  truncated: z.boolean(),
  records: z.base64(),
});
export type ListAnswer = z.infer<typeof answer>;

/** Answers another node, for those of these shards that are here. */
export async function answerList(
  localLogs: LocalLogs,
  query: ListQuery,
  requested: readonly number[],
): Promise<ListAnswer> {
  const { items, count, truncated, shards } = await ownList(localLogs.of(requested), query, true);
  const budget = createPageBudget(answerBytesMax);
  const records: Buffer[] = [];
  for (const record of items) {
    const encoded = encodedRecord(record);
    if (!budget.fits(encoded.length)) break;
    records.push(encoded);
  }
  return {
    shards,
    count,
    truncated: truncated || budget.full,
    records: Buffer.concat(records).toString("base64"),
  };
}

interface NodesWithShards extends Omit<OtherNodes, "others"> {
  places(): ShardPlaces;
}

/**
 * Each shard is asked of the node that has it, and of no other: so none is there twice, wherever it goes meanwhile. One
 * that nobody has, or whose node does not answer for it, is missing, and the page says so.
 */
export async function listAcrossNodes(
  localLogs: LocalLogs,
  query: ListQuery,
  { places, call, onFault }: NodesWithShards,
): Promise<EventPage> {
  const { page, limit } = query;
  const end = page * limit;
  const fromStart: ListQuery = { ...query, page: 1, limit: Math.min(end, rowsMax) };
  const { here, elsewhere, nowhere } = places();
  const shardsOnNode = (node: number): readonly number[] => elsewhere.get(node) ?? [];
  const requested = askOthers(
    { others: [...elsewhere.keys()], call, onFault },
    (node) => ({ call: "list", query: fromStart, shards: shardsOnNode(node) }),
    (node, found) => decoded(answer.parse(found), shardsOnNode(node)),
  );
  const own = await ownList(localLogs.of(here), fromStart, true);
  const parts = [own, ...(await requested).map((part) => part ?? missing)];
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const found = parts.reduce((sum, { shards }) => sum + shards.length, 0);
  const all = [...elsewhere.values(), here, nowhere].reduce((sum, shards) => sum + shards.length, 0);
  const isPart = found < all || parts.some(({ truncated }) => truncated);
  const from = end - limit;
  if (end > rowsMax) return { items: [], count, truncated: from < count || found < all };
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

/** @throws Error for what is no answer to what was asked */
function decoded({ records, ...told }: ListAnswer, requested: readonly number[]): LocalLogPage {
  if (new Set(told.shards).size < told.shards.length || !told.shards.every((one) => requested.includes(one)))
    throw new Error("the answer is about shards that were not asked for");
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
