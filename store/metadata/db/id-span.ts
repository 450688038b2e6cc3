import type { Condition, Db } from "./db.js";
import type { Filter } from "./table.js";

/** Where in a log a range of times lies: ids ascend with time, except for jumps of the clock. */

/** How far a clock may have been set back without hiding rows of a log with more than `wholeRowsMax` rows. */
const slackMs = 3_600_000;
/** All rows of a log of up to this size are examined, whatever its clock has done. */
const wholeRowsMax = 100_000;

/** Ids from `first` on, below `end`. */
export interface IDSpan {
  readonly first: number;
  readonly end: number;
}

/**
 * The span outside which no row has a time that passes the `filters` on `field`, provided the clock was never set back
 * by more than `slackMs`; null if all ids have to be examined. `field` is a column, milliseconds since 1970.
 */
export async function spanOfTimes(
  db: Db,
  table: string,
  field: string,
  filters: readonly Filter[],
): Promise<IDSpan | null> {
  const times = filters.filter((filter) => filter.field === field && filter.until !== undefined);
  if (times.length === 0 || !(await isLarge(db, table))) return null;
  const start = Math.max(...times.map(({ value }) => Number(value))) / 1000;
  const stop = Math.min(...times.map(({ until = 0 }) => until)) / 1000;
  return {
    first: await crossing(db, table, field, start - slackMs),
    end: await crossing(db, table, field, stop + slackMs),
  };
}

/** The span as a condition on `r`. */
export function inSpan(span: IDSpan | null): Condition {
  if (span === null) return { sql: "1", args: [] };
  return { sql: "r.id >= ? and r.id < ?", args: [span.first, span.end] };
}

async function isLarge(db: Db, table: string): Promise<boolean> {
  const row = await db.first<{ ids: number | null }>(
    `select (select max(id) from ${table}) - (select min(id) from ${table}) + 1 ids`,
  );
  return (row?.ids ?? 0) > wholeRowsMax;
}

/**
 * An id at which the next row is of `ms` or later and the row before is earlier. It is found by bisection of the
 * primary key in one statement, so that a remote store is asked once.
 */
async function crossing(db: Db, table: string, field: string, ms: number): Promise<number> {
  const row = await db.first<{ id: number }>(
    `with recursive span (low, high) as (
       select coalesce((select min(id) from ${table}), 0), coalesce((select max(id) from ${table}), -1) + 1
       union all
       select case when n.${field} < ?1 then n.id + 1 else s.low end,
         case when n.${field} < ?1 then s.high else (s.low + s.high) / 2 end
       from span s cross join ${table} n
       where s.low < s.high and n.id = (select min(id) from ${table} where id >= (s.low + s.high) / 2))
     select max(low) id from span`,
    [ms],
  );
  return row?.id ?? 0;
}
