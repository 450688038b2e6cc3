import { nextTurn } from "../../lib/scheduling.js";
import type { Condition, Db, SqlValue, Statement } from "./db.js";
import { type IDSpan, inSpan, spanOfTimes } from "./id-span.js";
import { withinPage } from "./page-bytes.js";
import { createSteps, type Steps } from "./steps.js";
import {
  type Filter,
  type FilterColumn,
  filterCondition,
  ownID,
  type Page,
  type PageRequest,
} from "./table.js";

/** Lists over logs of millions of rows: whatever the request, only a bounded number of rows is examined. */

export interface BoundedListing {
  /** Expressions of one row; columns are named as the record's fields. */
  readonly select: string;
  /** Table and joins; the log's own table has the alias `r`. */
  readonly from: string;
  /** The log's own table. */
  readonly table: string;
  readonly filters: Readonly<Record<string, FilterColumn>>;
  /** Bytes of a row's long values (`bytesOf`). */
  readonly bytes: string;
  /** The filter on a column of the log's own whose times ascend with the ids, except for jumps of the clock. */
  readonly ascending: string;
  /** Filters that are no SQL condition: they look at one column's bytes. */
  readonly tests: Readonly<Record<string, ByteTest>>;
}

interface ByteTest {
  readonly column: string;
  test(bytes: Uint8Array, filter: Filter): boolean;
}

/** Rows that one list may examine before it is truncated. */
export const scanRowsMax = 100_000;
/** Rows examined in one step, at first and at most; fewer if payloads are read. */
const rowSteps = { first: 200, most: 2000 } as const;
const payloadSteps = { first: 10, most: 100 } as const;
/**
 * Lists rows, newest first. `scope` is a condition that an index ending in the id serves. Only the newest `scanRowsMax`
 * rows of the scope, or of the part of it where a range of times can lie, are examined; the page says if more are left.
 * `among`: rows of these devices only.
 */
export async function listBounded<Row>(
  db: Db,
  listing: BoundedListing,
  scope: Statement,
  request: PageRequest,
  among: ReadonlySet<number> | null = null,
): Promise<Page<Row>> {
  const withoutIDs = { ...request, filters: request.filters.filter(({ field }) => field !== "id") };
  const span = await spanOfTimes(db, listing.table, listing.ascending, request.filters);
  const within = restrictToSpan(scope, request.filters, span);
  const plain = withoutIDs.filters.length === 0 && among === null;
  const found = plain
    ? await pageOfAll(db, listing, within, withoutIDs)
    : await scan(db, listing, within, withoutIDs, among);
  const { items, cut } = await readMatchedRows<Row>(db, listing, found.items);
  return { ...found, items, truncated: found.truncated === true || cut };
}

/** The record id is not treated as a filter that examines rows: it names the row. */
function restrictToSpan(scope: Statement, filters: readonly Filter[], span: IDSpan | null): Statement {
  const ids = filters.flatMap(({ field, value }) => (field === "id" ? [value] : []));
  const { sql, args } = inSpan(span);
  return {
    sql: `${scope.sql} and ${sql}${" and r.id = ?".repeat(ids.length)}`,
    args: [...(scope.args ?? []), ...args, ...ids],
  };
}

/** Devices whose rows are looked up one device after the other; for more devices, every row is examined. */
export const devicesMax = 1000;

/** Rows of up to `devicesMax` devices, newest first: at most `scanRowsMax` rows in all, the same number for each. */
export async function listOfDevices<Row>(
  db: Db,
  listing: BoundedListing,
  devices: readonly number[],
  request: PageRequest,
): Promise<Page<Row>> {
  const each = Math.floor(scanRowsMax / Math.max(1, devices.length));
  const span = await spanOfTimes(db, listing.table, listing.ascending, request.filters);
  const { ids, truncated } = await newestOfDevices(db, listing.table, devices, each, inSpan(span));
  const matching = request.filters.length === 0 ? ids : await findMatching(db, listing, ids, request.filters);
  const from = (request.page - 1) * request.limit;
  const { items, cut } = await readMatchedRows<Row>(db, listing, matching.slice(from, from + request.limit));
  return { items, count: matching.length, truncated: truncated || cut };
}

/** Ids of a page, the count, and whether the bound was reached. */
async function pageOfAll(
  db: Db,
  listing: BoundedListing,
  scope: Statement,
  { page, limit }: PageRequest,
): Promise<Page<number>> {
  const args = scope.args ?? [];
  const total = await db.first<{ n: number }>(
    `select count(*) n from (select 1 from ${listing.table} r where ${scope.sql} limit ?)`,
    [...args, scanRowsMax + 1],
  );
  const count = Math.min(total?.n ?? 0, scanRowsMax);
  const truncated = (total?.n ?? 0) > scanRowsMax;
  const from = (page - 1) * limit;
  if (from >= count) return { items: [], count, truncated };
  const rows = await db.all<{ id: number }>(
    `select r.id from ${listing.table} r where ${scope.sql} order by r.id desc limit ? offset ?`,
    [...args, Math.min(limit, count - from), from],
  );
  return { items: rows.map(({ id }) => id), count, truncated };
}

/** Examines the scope's rows step by step, newest first. */
async function scan(
  db: Db,
  listing: BoundedListing,
  scope: Statement,
  { page, limit, filters }: PageRequest,
  among: ReadonlySet<number> | null,
): Promise<Page<number>> {
  const from = (page - 1) * limit;
  const device = among === null ? "0" : "r.deviceIntID";
  const { sql, args, tests, steps } = buildCondition(db, listing, filters);
  const items: number[] = [];
  let count = 0;
  let before = Number.MAX_SAFE_INTEGER;
  for (let looked = 0; looked < scanRowsMax; ) {
    const asked = Math.min(steps.rows, scanRowsMax - looked);
    const last = await steps.run(async (all) => {
      const rows = await all<ScannedRow>(
        `select r.id, ${device} device, (${sql}) hit${formatTestColumns(tests)} from ${listing.from}
         where ${scope.sql} and r.id < ? order by r.id desc limit ?`,
        [...args, ...(scope.args ?? []), before, asked],
      );
      for (const row of rows) {
        if (!isHit(row, tests) || among?.has(row.device) === false) continue;
        if (count >= from && items.length < limit) items.push(row.id);
        count++;
      }
      looked += rows.length;
      return rows.length < asked ? undefined : rows.at(-1);
    });
    if (last === undefined) return { items, count, truncated: looked >= scanRowsMax };
    before = last.id;
  }
  return { items, count, truncated: true };
}

interface ScannedRow {
  readonly id: number;
  readonly device: number;
  readonly hit: number;
  readonly [test: `test${number}`]: ArrayBuffer;
}

interface Tested {
  readonly filter: Filter;
  readonly byte: ByteTest;
}

/** The filters as one SQL condition, and those that look at bytes. */
function buildCondition(
  db: Db,
  listing: BoundedListing,
  filters: readonly Filter[],
): { sql: string; args: SqlValue[]; tests: Tested[]; steps: Steps } {
  const conditions = ["1"];
  const args: SqlValue[] = [];
  const tests: Tested[] = [];
  for (const filter of filters) {
    const byte = listing.tests[filter.field];
    const column = filter.field === "id" ? ownID.id : listing.filters[filter.field];
    if (byte !== undefined) tests.push({ filter, byte });
    else if (column !== undefined) {
      const found = filterCondition(column, filter);
      conditions.push(found.sql);
      args.push(...(found.args ?? []));
    }
  }
  const { first, most } = tests.length > 0 ? payloadSteps : rowSteps;
  return { sql: conditions.join(" and "), args, tests, steps: createSteps(db, first, most) };
}

function formatTestColumns(tests: readonly Tested[]): string {
  return tests.map(({ byte }, i) => `, ${byte.column} test${i}`).join("");
}

function isHit(row: ScannedRow, tests: readonly Tested[]): boolean {
  if (row.hit !== 1) return false;
  return tests.every(({ filter, byte }, i) => {
    const bytes = row[`test${i}`];
    return bytes !== undefined && byte.test(new Uint8Array(bytes), filter);
  });
}

/** Those of the ids that pass the filters, in the same order. */
async function findMatching(
  db: Db,
  listing: BoundedListing,
  ids: readonly number[],
  filters: readonly Filter[],
): Promise<number[]> {
  const { sql, args, tests, steps } = buildCondition(db, listing, filters);
  const matching: number[] = [];
  for (let at = 0; at < ids.length; ) {
    const some = ids.slice(at, at + steps.rows);
    at += some.length;
    await steps.run(async (all) => {
      const rows = await all<ScannedRow>(
        `select r.id, 0 device, (${sql}) hit${formatTestColumns(tests)} from ${listing.from}
         where r.id in (select value from json_each(?)) order by r.id desc`,
        [...args, some],
      );
      for (const row of rows) if (isHit(row, tests)) matching.push(row.id);
    });
  }
  return matching;
}

const devicesPerStep = 20;

/** The newest `each` ids of every device, newest first; complete down to the first device that has more. */
async function newestOfDevices(
  db: Db,
  table: string,
  devices: readonly number[],
  each: number,
  span: Condition,
): Promise<{ ids: number[]; truncated: boolean }> {
  const ids: number[] = [];
  let completeDownTo = 0;
  for (let at = 0; at < devices.length; at += devicesPerStep) {
    const rows = await db.all<{ device: number; id: number }>(
      `select d.value device, r.id from json_each(?) d join ${table} r on r.id in
         (select r.id from ${table} r where r.deviceIntID = d.value and ${span.sql} order by r.id desc limit ?)
       order by device, r.id desc`,
      [devices.slice(at, at + devicesPerStep), ...span.args, each + 1],
    );
    let device = 0;
    let seen = 0;
    for (const row of rows) {
      seen = row.device === device ? seen + 1 : 1;
      device = row.device;
      if (seen > each) completeDownTo = Math.max(completeDownTo, row.id + 1);
      else ids.push(row.id);
    }
    await nextTurn();
  }
  ids.sort((a, b) => b - a);
  return { ids: ids.filter((id) => id >= completeDownTo), truncated: completeDownTo > 0 };
}

/** The rows of a page, as many as its bytes allow. */
async function readMatchedRows<Row>(
  db: Db,
  listing: BoundedListing,
  ids: readonly number[],
): Promise<{ items: Row[]; cut: boolean }> {
  const fitting = await withinPage(db, listing, ids);
  if (fitting.length === 0) return { items: [], cut: false };
  const items = await db.all<Row>(
    `select ${listing.select} from ${listing.from}
     where r.id in (select value from json_each(?)) order by r.id desc`,
    [fitting],
  );
  return { items, cut: fitting.length < ids.length };
}
