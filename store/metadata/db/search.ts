import type { Condition, Db, SqlValue } from "./db.js";
import { createSteps, spansOf } from "./steps.js";
import type { TextIndex } from "./table.js";
import { findRarest, listTerms, type Probe, probing } from "./text-index.js";

/** Rows of a table, searched by texts. */
export interface Search {
  readonly tenant: number;
  /** The table, with the alias `r`, and the joins that `where` needs. */
  readonly from: string;
  /** What rows must be like, the tenant included. */
  readonly where: string;
  readonly args: readonly SqlValue[];
  /** Where they are looked for: the tenant, and what else an index may serve. */
  readonly within: Condition;
  readonly texts: TextIndex | undefined;
  /** Column of the table and what it must contain; `where` says so too. */
  readonly patterns: readonly { readonly column: string; readonly pattern: string }[];
}

/** The rows that one step has looked at. */
export interface Looked {
  readonly rows: number;
  /** Ids that match, newest first. */
  readonly found: readonly number[];
}

/** Where there are no more rows, they are looked through, whatever an index would find. */
const fewRows = 500;
/** Rows of one step, at first and at most. */
const rowSteps = { first: 50, most: 5000 } as const;
/**
 * As `rowSteps`, of rows that an index has found. FTS5 goes over all newer ones first, which costs the same however few
 * are asked for.
 */
const foundSteps = { first: 500, most: 5000, least: 500 } as const;

/** Finds matches, newest first: by the index if it can serve the texts and there are many rows, else over all rows. */
export async function findMatches(db: Db, search: Search): Promise<AsyncGenerator<Looked>> {
  const { tenant, from, within, texts, patterns } = search;
  const indexed = patterns.filter(({ column }) => texts?.columns.includes(column));
  const terms = listTerms(
    tenant,
    indexed.map(({ pattern }) => pattern),
  );
  if (texts === undefined || terms.length === 0) return throughRows(db, search);
  const few = {
    sql: `select count(*) n from (select 1 from ${parseTableName(from)} r where ${within.sql} limit ?)`,
    args: [...within.args, fewRows + 1],
  };
  const tenants = { sql: "select count(*) n from (select 1 from tenant limit 2)" };
  const [counted, probes, owners] = await db.snapshot([few, probing(texts.table, terms), tenants]);
  const [count] = counted as { readonly n: number }[];
  if ((count?.n ?? 0) <= fewRows) return throughRows(db, search);
  const [owner] = owners as { readonly n: number }[];
  const query = findRarest(probes as Probe[], owner?.n === 1);
  return query === null ? nothing() : throughIndex(db, search, texts, query);
}

async function* nothing(): AsyncGenerator<Looked> {}

const parseTableName = (from: string): string => from.split(" ", 1)[0] ?? "";

async function* throughRows(db: Db, { from, where, args, within }: Search): AsyncGenerator<Looked> {
  const steps = createSteps(db, rowSteps.first, rowSteps.most);
  for await (const span of spansOf(db, parseTableName(from), within, steps)) {
    const found = await steps.run((all) =>
      all<{ id: number }>(
        `select r.id from ${from} where ${where} and r.id >= ? and r.id < ? order by r.id desc`,
        [...args, span.from, span.before],
      ),
    );
    yield { rows: span.rows, found: found.map(({ id }) => id) };
  }
}

function throughIndex(db: Db, search: Search, { table }: TextIndex, query: string): AsyncGenerator<Looked> {
  return matchesAmong(db, search, (before, limit) => ({
    sql: `select rowid id from ${table} where ${table} match ? and rowid < ? order by rowid desc limit ?`,
    args: [query, before, limit],
  }));
}

/**
 * Those of some ids whose rows match. `idsBelow` asks for the next ids, newest first: `limit` of those below `before`,
 * by an index.
 */
export async function* matchesAmong(
  db: Pick<Db, "inStep">,
  { from, where, args }: Pick<Search, "from" | "where" | "args">,
  idsBelow: (before: number, limit: number) => Condition,
): AsyncGenerator<Looked> {
  const steps = createSteps(db, foundSteps.first, foundSteps.most, foundSteps.least);
  const joined = from.replace(/^(\w+) r\b/, "cross join $1 r on r.id = c.id");
  for (let before = Number.MAX_SAFE_INTEGER; before > 0; ) {
    const asked = steps.rows;
    const ids = idsBelow(before, asked);
    const [looked] = await steps.run((all) =>
      all<{ rows: number; last: number | null; found: string }>(
        `select count(*) rows, min(c.id) last, json_group_array(c.id) filter (where ${where}) found
         from (${ids.sql}) c ${joined}`,
        [...args, ...ids.args],
      ),
    );
    if (looked === undefined) return;
    const { rows, last, found } = looked;
    yield { rows, found: (JSON.parse(found) as number[]).sort((a, b) => b - a) };
    before = rows < asked ? 0 : (last ?? 0);
  }
}
