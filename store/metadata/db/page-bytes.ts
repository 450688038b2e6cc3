import type { Condition, Db } from "./db.js";

/**
 * Bytes of one page: a list of large rows ends before the row that would exceed this and says so (`Truncated`); the
 * caller gets the rest by asking with a smaller limit. One row is always returned, however large.
 */
export const pageBytesMax = 8_000_000;

/** A row bounded only by the request body that it came in is no larger than 1 MiB: so few rows need not be measured. */
const unmeasuredRows = 8;

/** The measure of a page: the bytes of the columns whose values may be long, as an SQL expression. */
export function formatBytesSql(...columns: readonly string[]): string {
  return columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(" + ");
}

/** The first of the ids, in their order, whose rows fit a page together; `from` and `bytes` are as in a listing. */
export async function withinPage(
  db: Pick<Db, "all">,
  { from, bytes }: { readonly from: string; readonly bytes?: string },
  ids: readonly number[],
): Promise<readonly number[]> {
  if (bytes === undefined || ids.length <= unmeasuredRows) return ids;
  const rows = await db.all<{ id: number; bytes: number }>(
    `select r.id, ${bytes} bytes from ${from} where r.id in (select value from json_each(?))`,
    [ids],
  );
  const sizes = new Map(rows.map((row) => [row.id, row.bytes]));
  const page = createPageBudget();
  const end = ids.findIndex((id) => !page.fits(sizes.get(id) ?? 0));
  return end < 0 ? ids : ids.slice(0, end);
}

/** As `withinPage`, within a statement: `page` selects the ids, newest first. */
export function withinPageSql(
  { from, bytes }: { readonly from: string; readonly bytes?: string },
  page: Condition,
  bytesMax = pageBytesMax,
): Condition {
  if (bytes === undefined) return page;
  const sizes = `select r.id, row_number() over newest nth, sum(${bytes}) over newest total
    from ${from} where r.id in (${page.sql})
    window newest as (order by r.id desc rows unbounded preceding)`;
  return {
    sql: `select id from (${sizes}) where nth = 1 or total <= ${bytesMax}`,
    args: page.args,
  };
}

/** Counts the rows of one page. */
interface PageBudget {
  /** Whether a row of so many bytes still fits the page; after the first that does not, none does. */
  fits(bytes: number): boolean;
  /** Whether a row did not fit. */
  readonly full: boolean;
}

export function createPageBudget(bytesMax = pageBytesMax): PageBudget {
  let total = 0;
  let rows = 0;
  let full = false;
  return {
    fits: (bytes) => {
      total += bytes;
      if (rows > 0 && total > bytesMax) full = true;
      if (!full) rows++;
      return !full;
    },
    get full() {
      return full;
    },
  };
}
