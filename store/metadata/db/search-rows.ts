import type { Db, Statement } from "./db.js";
import { withinPage } from "./page-bytes.js";
import { findMatches, type Search } from "./search.js";
import { createSteps } from "./steps.js";
import {
  type Filter,
  type Listing,
  type ListSource,
  type Page,
  type PageRequest,
  reachesJoins,
  readRows,
} from "./table.js";

/** Rows that one search looks at; if there are more rows, it says that there may be other matches. */
export const searchedRowsMax = 100_000;
/** Matches that a search counts beyond its page. */
export const searchedMatchesMax = 1000;
/** Rows of a page that are read in one step, at first and at most. */
const pageSteps = { first: 50, most: 1000 } as const;

/**
 * `listRows` for searches of text. They work in steps, since the time that a row takes depends on the search and the
 * row, and end at a bound: then the page is the newest matches' and says `truncated`.
 */
export async function searchRows<Row>(
  db: Db,
  source: ListSource,
  tenant: number,
  request: PageRequest,
  scope: Statement,
): Promise<Page<Row>> {
  const { listing, from, where, args } = source;
  const own = reachesJoins(scope.sql) ? { sql: "1" } : scope;
  const matches = await findMatches(db, {
    tenant,
    from,
    where,
    args,
    within: { sql: `r.tenant = ? and (${own.sql})`, args: [tenant, ...(own.args ?? [])] },
    texts: listing.texts,
    patterns: listPatterns(listing, request.filters),
  });
  const offset = (request.page - 1) * request.limit;
  const countMax = Math.max(searchedMatchesMax, offset + request.limit);
  const ids: number[] = [];
  let [count, looked, isCut] = [0, 0, false];
  for await (const { rows, found } of matches) {
    for (const id of found) {
      if (count >= offset && ids.length < request.limit) ids.push(id);
      count++;
    }
    looked += rows;
    isCut = count > countMax || looked > searchedRowsMax;
    if (isCut) break;
  }
  const { items, cut } = await readPage<Row>(db, source, ids);
  return { items, count: Math.min(count, countMax), truncated: cut || isCut };
}

/** What columns of the entity's own table must contain. */
function listPatterns({ filters }: Listing, asked: readonly Filter[]): Search["patterns"] {
  return asked.flatMap(({ field, like, value }) => {
    const column = filters[field]?.column ?? "";
    return like && column.startsWith("r.") ? [{ column: column.slice(2), pattern: String(value) }] : [];
  });
}

/** The rows of a page, a step at a time. */
async function readPage<Row>(
  db: Db,
  source: ListSource,
  ids: readonly number[],
): Promise<{ readonly items: Row[]; readonly cut: boolean }> {
  const fitting = await withinPage(db, source.listing, ids);
  const steps = createSteps(db, pageSteps.first, pageSteps.most);
  const items: Row[] = [];
  for (let at = 0; at < fitting.length; ) {
    const some = fitting.slice(at, at + steps.rows);
    at += some.length;
    items.push(...(await steps.run((all) => readRows<Row>({ all }, source, some))));
  }
  return { items, cut: fitting.length < ids.length };
}
