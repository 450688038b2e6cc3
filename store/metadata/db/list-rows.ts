import { type Db, forFewRows, type SqlValue, type Statement } from "./db.js";
import { pageBytesMax, withinPage, withinPageSql } from "./page-bytes.js";
import { blockIDs } from "./schema-lists.js";
import { searchRows } from "./search-rows.js";
import {
  type Filter,
  type Listing,
  type ListSource,
  ownTable,
  type Page,
  type PageRequest,
  readRows,
  toSource,
} from "./table.js";

/**
 * Matches looked for beyond a filtered page: if there are no more than these, finding the page has counted them too.
 */
const countedAheadMax = 200;

/** The most rows that a list counts; if there are more, it says that there are at least so many. */
export const countedRowsMax = 100_000;

/** Pages of so few rows and bytes near the begin of a list are read at once. */
const shortPage = 50;
const shortOffset = 500;
const shortBytes = 256 * 1024;
/** A list is short if at least one in so many rows of the index belongs to it. */
const sparseShare = 20;

/**
 * Newest first. `scope` is a further literal condition with its arguments. The page's ids come from the narrowest index
 * that serves, and only the page's rows are joined: skipped and counted rows are never read whole.
 */
export async function listRows<Row>(
  db: Db,
  listing: Listing,
  tenant: number,
  request: PageRequest,
  scope: Statement = { sql: "1" },
): Promise<Page<Row>> {
  const source = toSource(listing, tenant, request.filters, scope);
  if (request.filters.some(({ like }) => like)) return searchRows(db, source, tenant, request, scope);
  const kept = findKeptCount(listing, request.filters);
  if (kept === null) return pageOfFound(db, source, request);
  if (listing.short === true && (await isShort(db, source, request, kept))) {
    const page = await pageOfCounted<Row>(forFewRows(db), source, request, kept, shortBytes);
    if (page.truncated !== true) return page;
  }
  return pageOfCounted(db, source, request, kept);
}

/** Whether the index goes over a few rows: the page is small and near the begin, and the list has most of its rows. */
async function isShort(
  db: Db,
  { listing: { blocks }, where, args }: ListSource,
  request: PageRequest,
  kept: string,
): Promise<boolean> {
  if (blocks === undefined || request.filters.length > 0) return false;
  if (request.limit > shortPage || toOffset(request) > shortOffset) return false;
  const [tenant = 0] = args;
  const [own, all] = (await db.lookUp([
    { sql: `select coalesce(sum(r.n), 0) n from ${kept} where ${where}`, args },
    { sql: `select coalesce(sum(r.n), 0) n from ${blocks} r where r.tenant = ?`, args: [tenant] },
  ])) as { readonly n: number }[][];
  return (all?.[0]?.n ?? 0) <= sparseShare * Math.max(shortPage, own?.[0]?.n ?? 0);
}

/** The source of a kept count for these filters; null if there is none. */
function findKeptCount({ counts = [] }: Listing, filters: readonly Filter[]): string | null {
  const found = counts.find((one) =>
    filters.every(({ field, until }) => until === undefined && one.filters.includes(field)),
  );
  if (found === undefined) return null;
  return filters.length === 0 ? ownTable(found.from) : found.from;
}

/** A page of rows that the store has counted, in one query: finding its ids twice costs less than a second query. */
async function pageOfCounted<Row>(
  db: Pick<Db, "all" | "snapshot">,
  { listing, from, where, args }: ListSource,
  request: PageRequest,
  kept: string,
  bytesMax = pageBytesMax,
): Promise<Page<Row>> {
  const start = await findPageStart(db, listing, where, args, request);
  const page = {
    sql: `select r.id from ${from} where ${where} and r.id < ? order by r.id desc limit ? offset ?`,
    args: [...args, start.before, request.limit, toOffset(request) - start.skipped],
  };
  const fitting = withinPageSql(listing, page, bytesMax);
  const [items = [], ids = [], counted = []] = (await db.snapshot([
    {
      sql: `select ${listing.select} from ${listing.from}
        where ${where} and r.id in (${fitting.sql}) order by r.id desc`,
      args: [...args, ...fitting.args],
    },
    { sql: `select count(*) n from (${page.sql})`, args: page.args },
    { sql: `select coalesce(sum(r.n), 0) n from ${kept} where ${where}`, args },
  ])) as [Row[], { n: number }[]?, { n: number }[]?];
  return { items, count: counted[0]?.n ?? 0, truncated: items.length < (ids[0]?.n ?? 0) };
}

/** A page of rows that are counted as they are found. */
async function pageOfFound<Row>(db: Db, source: ListSource, request: PageRequest): Promise<Page<Row>> {
  const { listing, from, where, args } = source;
  const offset = toOffset(request);
  const found = await db.all<{ id: number }>(
    `select r.id from ${from} where ${where} order by r.id desc limit ? offset ?`,
    [...args, request.limit + countedAheadMax, offset],
  );
  const isWhole = found.length < request.limit + countedAheadMax && (found.length > 0 || offset === 0);
  const count = isWhole ? offset + found.length : await countRows(db, from, where, args);
  const ids = found.slice(0, request.limit).map((row) => row.id);
  const fitting = await withinPage(db, listing, ids);
  const items = await readRows<Row>(db, source, fitting);
  const isCut = fitting.length < ids.length;
  if (count <= countedRowsMax) return { items, count, truncated: isCut };
  return { items, count: countedRowsMax, truncated: true };
}

const toOffset = ({ page, limit }: PageRequest): number => (page - 1) * limit;

/** Where the rows of a page are looked for: below an id, after so many rows of the list. */
async function findPageStart(
  db: Pick<Db, "all">,
  { blocks }: Listing,
  where: string,
  args: readonly SqlValue[],
  request: PageRequest,
): Promise<{ readonly before: number; readonly skipped: number }> {
  const offset = toOffset(request);
  if (blocks === undefined || request.filters.length > 0 || offset < blockIDs) {
    return { before: Number.MAX_SAFE_INTEGER, skipped: 0 };
  }
  const [row] = await db.all<{ block: number; skipped: number }>(
    `select block, total - n skipped from (
       select block, n, sum(n) over (order by block desc) total
       from (select r.block, sum(r.n) n from ${blocks} r where ${where} group by r.block)
     ) where total - n <= ? order by block limit 1`,
    [...args, offset],
  );
  if (row === undefined) return { before: Number.MAX_SAFE_INTEGER, skipped: 0 };
  return { before: (row.block + 1) * blockIDs, skipped: row.skipped };
}

async function countRows(db: Db, from: string, where: string, args: readonly SqlValue[]): Promise<number> {
  const row = await db.first<{ n: number }>(
    `select count(*) n from (select 1 from ${from} where ${where} limit ?)`,
    [...args, countedRowsMax + 1],
  );
  return row?.n ?? 0;
}
