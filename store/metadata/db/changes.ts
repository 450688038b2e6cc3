import { isDeepStrictEqual } from "node:util";
import { nextTurn } from "../../lib/scheduling.js";
import { repeatedFlight } from "../../lib/single-flight.js";
import { type Db, forFewRows, type SqlValue, type Statement } from "./db.js";
import { inSpan, spanOfTimes } from "./id-span.js";
import { listRows } from "./list-rows.js";
import { formatBytesSql } from "./page-bytes.js";
import {
  deleteRows,
  insertInto,
  type Listing,
  type Page,
  type PageRequest,
  time,
  updateRow,
} from "./table.js";

/** How a caller was authenticated: by a session, named by its token's hash, or by an API key. */
export type CallerCredential = { readonly session: string } | { readonly apiKey: number };

/** The author of a change: the caller of the API, or the service itself. */
export interface Actor {
  readonly tenant: number;
  readonly userIntID: number | null;
  readonly username: string | null;
  /** The caller's credential; absent if the service itself acts. */
  readonly credential?: CallerCredential;
}

export interface Change {
  readonly id: number;
  readonly tenant: number;
  readonly userIntID: number | null;
  readonly username: string | null;
  readonly at: number;
  readonly action: "create" | "update" | "delete";
  readonly entity: string;
  readonly recordID: number;
  readonly detail: string | null;
}

/** The most bytes that the log keeps about one change. */
export const detailBytesMax = 4096;
/** In a longer detail, a value with more bytes is replaced by its size. */
const valueBytesMax = 256;

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** A detail as the log keeps it: if it is long, only the short fields, or else the names of its fields. */
export function boundDetail(audit: object | null): object | null {
  if (audit === null || jsonBytes(audit) <= detailBytesMax) return audit;
  const sized = Object.entries(audit).map(([field, value]) => {
    const bytes = jsonBytes(value);
    return [field, bytes > valueBytesMax ? { bytes } : value] as const;
  });
  const short = Object.fromEntries(sized);
  return jsonBytes(short) <= detailBytesMax ? short : { fields: Object.keys(audit).slice(0, 100) };
}

/**
 * The row that every metadata write adds in its own transaction, both as audit log and as feed of the directory. With
 * `recordID` null it takes the id that the statement before it inserted.
 */
export function changed(
  actor: Actor,
  now: number,
  action: Change["action"],
  entity: string,
  recordID: number | null,
  detail: object | null = null,
): Statement {
  const args = [actor.tenant, actor.userIntID, actor.username, now, action, entity];
  return {
    sql: `insert into change (tenant, userIntID, username, at, action, entity, recordID, detail)
      values (?, ?, ?, ?, ?, ?, ${recordID === null ? "last_insert_rowid()" : "?"}, ?)`,
    args: [...args, ...(recordID === null ? [] : [recordID]), boundDetail(detail)],
  };
}

/** Such rows for many records, in one statement, in the order of the ids. */
export function changedAll(
  actor: Actor,
  now: number,
  action: Change["action"],
  entity: string,
  ids: readonly number[],
  detail: object | null = null,
): Statement {
  return {
    sql: `insert into change (tenant, userIntID, username, at, action, entity, recordID, detail)
      select ?, ?, ?, ?, ?, ?, value, ? from json_each(?) order by key`,
    args: [actor.tenant, actor.userIntID, actor.username, now, action, entity, boundDetail(detail), ids],
    rows: ids.length,
  };
}

type Columns = Readonly<Record<string, SqlValue>>;

/** Inserts one new record of the caller's tenant with its trace; `audit` is what the audit log may show of it. */
export function insertStatements(
  table: string,
  actor: Actor,
  now: number,
  columns: Columns,
  audit: object = columns,
): Statement[] {
  const { tenant, userIntID, username: createUser } = actor;
  return [
    insertInto(table, { tenant, ...columns, userIntID, createUser, createAt: now }),
    changed(actor, now, "create", table, null, audit),
  ];
}

/** The fields of an edit whose values differ from the record's: only these are written, and listed. */
export function differing<Input extends object>(record: object, input: Input): Partial<Input> {
  const stored = record as Readonly<Record<string, unknown>>;
  const entries = Object.entries(input).filter(([field, value]) => !isDeepStrictEqual(stored[field], value));
  return Object.fromEntries(entries) as Partial<Input>;
}

/** Edits one record; `columns` are those that differ. updateAt moves even if none does. */
export function updateStatements(
  table: string,
  actor: Actor,
  now: number,
  id: number,
  columns: Columns,
  audit: object = columns,
): Statement[] {
  return [
    updateRow(table, actor.tenant, id, { ...columns, updateAt: now }),
    changed(actor, now, "update", table, id, audit),
  ];
}

export function deleteStatements(
  table: string,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Statement[] {
  return [deleteRows(table, actor.tenant, ids), changedAll(actor, now, "delete", table, ids)];
}

const listing: Listing = {
  bytes: formatBytesSql("r.detail"),
  select: "r.id, r.tenant, r.userIntID, r.username, r.at, r.action, r.entity, r.recordID, r.detail",
  from: "change r",
  filters: {
    userIntID: { column: "r.userIntID", type: "integer" },
    username: { column: "r.username", type: "text" },
    action: { column: "r.action", type: "text" },
    entity: { column: "r.entity", type: "text" },
    recordID: { column: "r.recordID", type: "integer" },
    at: time("at"),
  },
};

export const changeFilters = listing.filters;

export async function listChanges(db: Db, tenant: number, request: PageRequest): Promise<Page<Change>> {
  const span = await spanOfTimes(db, "change", "at", request.filters);
  return listRows<Change>(db, listing, tenant, request, inSpan(span));
}

export interface ChangeFeed {
  /** Reads new rows, and resolves once every listener has seen them. */
  poll(): Promise<void>;
  close(): void;
}

/** Changes read in one step, so that a burst does not hold the loop; after a single write there are few. */
const changesPerPoll = 500;
const changesAtFirst = 20;

/**
 * Follows the change table from its present end. Local writes wake the feed at once; with a shared database it also
 * looks every `intervalMs`.
 */
export async function openChangeFeed(
  db: Db,
  listener: (change: Change) => void | Promise<void>,
  intervalMs: number,
): Promise<ChangeFeed> {
  let last = (await db.first<{ id: number }>("select coalesce(max(id), 0) id from change"))?.id ?? 0;
  const { run: poll } = repeatedFlight(async () => {
    for (let most = changesAtFirst; ; most = changesPerPoll) {
      const { all } = most === changesAtFirst ? forFewRows(db) : db;
      const rows = await all<Change>("select * from change where id > ? order by id limit ?", [last, most]);
      for (const row of rows) {
        await listener(row);
        last = row.id;
      }
      if (rows.length < most) return;
      // Local reads resolve within the turn of the loop, so a long feed gives way between its steps.
      await nextTurn();
    }
  });
  // The next poll makes up for a failed one: the position has not moved.
  const wake = (): Promise<void> => poll().catch(() => undefined);
  db.onWrite(wake);
  const timer = db.shared ? setInterval(wake, intervalMs) : undefined;
  return { poll, close: () => clearInterval(timer) };
}

/** When the newest change was made, milliseconds since 1970; null without one. */
export async function newestChangeAt(db: Pick<Db, "first">): Promise<number | null> {
  return (await db.first<{ at: number }>("select at from change order by id desc limit 1"))?.at ?? null;
}
