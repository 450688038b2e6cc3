import { StoreError } from "../../lib/errors.js";
import { readInteger } from "../../lib/number-text.js";
import { containing } from "./containing.js";
import type { Condition, Db, SqlValue, Statement } from "./sql.js";
import { forFewRows, lookUpFirst } from "./sql.js";

/** Parts that every entity shares: pages, filters, ids, inserts and updates. The SQL of joins stays with the entity. */

/** A time is a column of milliseconds since 1970; a boolean is 1 or 0. */
export type ColumnType = "text" | "integer" | "real" | "time" | "boolean";

/** One entity that can be listed: the source of its rows and the fields that a caller may filter by. */
export interface Listing {
  /** Expressions of one row; columns are named as the record's fields. */
  readonly select: string;
  /**
   * Tables and joins; the entity's own table has the alias `r`. An inner join `on x.id = r.link` follows a link that
   * every row has, so that counting can omit it.
   */
  readonly from: string;
  readonly filters: Readonly<Record<string, FilterColumn>>;
  /** Bytes of a row's long values (`bytesOf`); absent if it has none. */
  readonly bytes?: string;
  /** Counts that the store keeps, instead of counting the rows anew. */
  readonly counts?: readonly KeptCount[];
  /** Table that keeps how many rows each block of `blockIDs` ids has; its columns are those of scopes. */
  readonly blocks?: string;
  /** A row takes little time to read, whatever it links to: nothing is counted. Such rows are read at once. */
  readonly short?: true;
  /** An index of the texts of some columns, for `_like`. */
  readonly texts?: TextIndex;
}

/** A table whose rows say in `n` how many rows of the entity they count. */
interface KeptCount {
  /** As `from` of a listing; the table, with the alias `r`, has the columns that scopes and the filters name. */
  readonly from: string;
  /** Filters that may be set. */
  readonly filters: readonly string[];
}

/** An index of trigrams over columns of the entity's own table; see schema-search. */
export interface TextIndex {
  readonly table: string;
  readonly columns: readonly string[];
}

/** How a filter compares. Text fields also take `<name>_like`. */
export interface FilterColumn {
  /** SQL expression that must be equal to, or contain, the value. */
  readonly column: string;
  readonly type: ColumnType;
  /** Replaces `column` if equality is not that of a column: a condition with one `?`; then there is no `_like`. */
  readonly where?: string;
}

/** Where id texts of a resource are looked up: its table, the column of its string id, a further condition. */
export interface IDTable {
  readonly name: string;
  readonly column: string | null;
  readonly scope?: string;
}

/** A filter on the column of the entity's own table that has the field's name. */
export const textColumn = (name: string) => ({ column: `r.${name}`, type: "text" }) as const;
export const integerColumn = (name: string) => ({ column: `r.${name}`, type: "integer" }) as const;
export const real = (name: string) => ({ column: `r.${name}`, type: "real" }) as const;

export const time = (name: string) => ({ column: `r.${name}`, type: "time" }) as const;
export const stamps = { createAt: time("createAt"), updateAt: time("updateAt") } as const;
/** A field that is null in every row: no value equals it. */
export const never = (type: ColumnType) => ({ column: "null", type }) as const;

/** Every list filters by the record id, so listings do not name it. */
export const ownID = { id: integerColumn("id") } as const;

export interface Filter {
  readonly field: string;
  readonly like: boolean;
  /** For a time, the first microsecond taken. */
  readonly value: string | number;
  /** For a time, the first microsecond not taken. */
  readonly until?: number;
}

export interface PageRequest {
  readonly page: number;
  readonly limit: number;
  readonly filters: readonly Filter[];
}

export interface Page<Row> {
  readonly items: Row[];
  readonly count: number;
  /** The page ended before its limit because its rows are large, or the count stopped at a bound. */
  readonly truncated?: boolean;
}

/** The condition of a list: its tenant, its scope, its filters. */
export function toCondition(
  listing: Listing,
  tenant: number,
  filters: readonly Filter[],
  scope: Statement,
): Condition {
  const parts: Statement[] = [
    { sql: "r.tenant = ?", args: [tenant] },
    { ...scope, sql: `(${scope.sql})` },
  ];
  for (const filter of filters) {
    const found: FilterColumn | undefined = filter.field === "id" ? ownID.id : listing.filters[filter.field];
    if (found === undefined) continue;
    parts.push(filterCondition(found, filter));
  }
  return {
    sql: parts.map((part) => part.sql).join(" and "),
    args: parts.flatMap((part) => part.args ?? []),
  };
}

export function filterCondition(
  { column, where = `${column} = ?` }: FilterColumn,
  { like, value, until }: Filter,
): Statement {
  if (until !== undefined) {
    const bounds = [Number(value), until].map((micros) => Math.ceil(micros / 1000));
    return { sql: `(${column} >= ? and ${column} < ?)`, args: bounds };
  }
  return like ? containing(column, String(value)) : { sql: where, args: [value] };
}

/** Whether a condition may refer to another table than the entity's own. */
export function reachesJoins(where: string): boolean {
  return /\b(?!r\.)\w+\./.test(where);
}

/** `from` without joins that only look something up; unchanged if one of them may drop or repeat rows. */
export function ownTable(from: string): string {
  const found = /^(\w+ r)(?:\s+(?:left\s+)?join\s+\w+\s+(\w+)\s+on\s+\2\.id\s*=\s*r\.\w+)*\s*$/.exec(from);
  return found?.[1] ?? from;
}

/** Where the rows of one list come from. */
export interface ListSource {
  readonly listing: Listing;
  /** Tables and joins that the condition needs. */
  readonly from: string;
  readonly where: string;
  readonly args: readonly SqlValue[];
}

export function toSource(
  listing: Listing,
  tenant: number,
  filters: readonly Filter[],
  scope: Statement,
): ListSource {
  const { sql: where, args } = toCondition(listing, tenant, filters, scope);
  return { listing, from: reachesJoins(where) ? listing.from : ownTable(listing.from), where, args };
}

/** The rows of a page, newest first. */
export async function readRows<Row>(
  db: Pick<Db, "all">,
  { listing, where, args }: ListSource,
  ids: readonly number[],
): Promise<Row[]> {
  if (ids.length === 0) return [];
  // The conditions apply again: a join may yield a record more than once, and a row may have changed since.
  return await db.all<Row>(
    `select ${listing.select} from ${listing.from}
     where ${where} and r.id in (select value from json_each(?)) order by r.id desc`,
    [...args, ids],
  );
}

/** One row of the tenant, by record id. @throws StoreError NOT_FOUND */
export async function getRow<Row>(db: Db, listing: Listing, tenant: number, id: number): Promise<Row> {
  const sql = `select ${listing.select} from ${listing.from} where r.tenant = ? and r.id = ?`;
  const row = await (listing.short === true
    ? lookUpFirst<Row>(db, sql, [tenant, id])
    : db.first<Row>(sql, [tenant, id]));
  if (row === undefined) throw notFound(String(id));
  return row;
}

export function notFound(what: string): StoreError {
  return new StoreError("NOT_FOUND", `cannot find the record: ${what}`);
}

export function insertInto(table: string, record: Readonly<Record<string, SqlValue>>): Statement {
  const columns = Object.keys(record);
  return {
    sql: `insert into ${table} (${columns.map(quote).join(", ")}) values (${columns.map(() => "?").join(", ")})`,
    args: Object.values(record),
  };
}

export function updateRow(
  table: string,
  tenant: number,
  id: number,
  record: Readonly<Record<string, SqlValue>>,
): Statement {
  const columns = Object.keys(record);
  return {
    sql: `update ${table} set ${columns.map((name) => `${quote(name)} = ?`).join(", ")} where tenant = ? and id = ?`,
    args: [...Object.values(record), tenant, id],
  };
}

export function deleteRows(table: string, tenant: number, ids: readonly number[]): Statement {
  return {
    sql: `delete from ${table} where tenant = ? and id in (select value from json_each(?))`,
    args: [tenant, ids],
  };
}

/** Quotes column names because `enum` is an SQL keyword. */
function quote(column: string): string {
  return column === "enum" ? `"enum"` : column;
}

/** Ids that are looked up at once. */
const shortIDs = 20;

/**
 * Record ids for id texts: a canonical decimal is tried as record id first, otherwise the text is the string id
 * in `column`. Repeated ids count once. @throws StoreError NOT_FOUND naming the first unknown one
 */
export async function resolveIDs(
  db: Db,
  table: IDTable,
  tenant: number,
  texts: readonly string[],
): Promise<number[]> {
  const scope = table.scope ?? "1";
  const { all } = texts.length <= shortIDs ? forFewRows(db) : db;
  const numbers = texts.filter(isRecordID).map(Number);
  const byNumber = new Set(
    numbers.length === 0
      ? []
      : (
          await all<{ id: number }>(
            `select id from ${table.name} where tenant = ? and ${scope} and id in (select value from json_each(?))`,
            [tenant, numbers],
          )
        ).map((row) => row.id),
  );
  const rest = texts.filter((text) => !(isRecordID(text) && byNumber.has(Number(text))));
  const byText = new Map<string, number>();
  // Binds one parameter for each text: json_each must never decode text from outside.
  for (let at = 0; table.column !== null && at < rest.length; at += 500) {
    const some = rest.slice(at, at + 500);
    const rows = await all<{ id: number; text: string }>(
      `select id, ${table.column} text from ${table.name}
       where tenant = ? and ${scope} and ${table.column} in (${some.map(() => "?").join(", ")})`,
      [tenant, ...some],
    );
    for (const row of rows) byText.set(row.text, row.id);
  }
  const ids = texts.map((text) => {
    const id = isRecordID(text) && byNumber.has(Number(text)) ? Number(text) : byText.get(text);
    if (id === undefined) throw notFound(text);
    return id;
  });
  return [...new Set(ids)];
}

function isRecordID(text: string): boolean {
  return (readInteger(text) ?? 0) > 0;
}

/** Stored JSON text → value; null stays null. */
export function fromJson<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}
