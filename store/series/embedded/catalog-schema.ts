import type { InValue } from "@libsql/client/sqlite3";
import { StoreError } from "../../lib/errors.js";
import type { RemovedScope } from "./names.js";

/** The format of catalog.db. */
export const catalogFormat = 2;
/** The format of the point files: since 2 chunks have checksums. */
export const partFormat = 2;

export const catalogSchema = [
  "create table if not exists meta(key text primary key, value integer not null) strict, without rowid",
  // removed: 0 until the series is removed, then its own id, so that a new series can take the same name
  `create table if not exists series(
    id integer primary key autoincrement, tenant integer not null, product text not null, device text not null,
    field text not null, kind text not null, removed integer not null default 0,
    unique(tenant, product, device, field, kind, removed)) strict`,
  "create index if not exists series_removed on series(id) where removed <> 0",
  // loose: flushes since the part was last compacted; dropped: 1 from the decision to the unlink; held: the series
  // that it may hold (series-set.ts) as of the file's version `file`; low, high: first and last time that completed
  // flushes have written; null where that is not known
  `create table if not exists part(
    start integer primary key, stop integer not null, path text not null unique, format integer not null,
    loose integer not null default 0, dropped integer not null default 0, held blob, file text,
    low integer, high integer) strict`,
  // stretches of time whose points were lost and are to be written again from elsewhere; series 0: of all series
  `create table if not exists gap(
    id integer primary key autoincrement, start integer not null, stop integer not null,
    series integer not null) strict`,
];

/** In format 1 a part was a calendar month, and nothing recorded what it held. */
export const catalogToFormat2 = [
  "alter table part add column held blob",
  "alter table part add column file text",
  "alter table part add column low integer",
  "alter table part add column high integer",
];

/**
 * A file of points and the span that it stands for: start taken, stop not (microseconds); `path` is a name in the
 * store's folder.
 */
export interface CatalogPart {
  readonly start: number;
  readonly stop: number;
  readonly path: string;
}

/** These remove the names; the points are deleted later. */
export function buildRemovals(scopes: readonly RemovedScope[]): { sql: string; args: InValue[] }[] {
  const names = { device: [] as unknown[], field: [] as unknown[] };
  for (const scope of scopes) {
    const { tenant, productID } = scope;
    if ("field" in scope) names.field.push([tenant, productID, scope.field]);
    else names.device.push([tenant, productID, scope.deviceID]);
  }
  return (["device", "field"] as const).map((column) => ({
    sql: `update series set removed = id where id in (select s.id from json_each(?) k cross join series s
      on s.tenant = k.value->>0 and s.product = k.value->>1 and s.${column} = k.value->>2
      where s.removed = 0)`,
    args: [JSON.stringify(names[column])],
  }));
}

export function newerFormat(name: string, version: number, known: number): StoreError {
  return new StoreError(
    "UNAVAILABLE",
    `cannot open series store: ${name} has format ${version}, this version reads up to ${known}`,
  );
}

/**
 * As a double: a part, or a limit of retention, may begin where whole microseconds are no longer safe integers,
 * which the client refuses to give. Such edges are whole milliseconds, exact in a double.
 */
export const edge = (column: string): string => `cast(${column} as real)`;
