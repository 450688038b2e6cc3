import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Client, InValue } from "@libsql/client/sqlite3";
import { StoreError } from "../errors.js";
import type { RemovedScope, SeriesKey } from "./names.js";
import { inTransaction, openFile } from "./sqlite.js";

export const SERIES_FORMAT = 1;

const DDL = [
  "create table if not exists meta(key text primary key, value integer not null) strict, without rowid",
  // removed: 0 while it lives, then its own id, so that the same name can begin anew
  `create table if not exists series(
    id integer primary key autoincrement, tenant integer not null, product text not null, device text not null,
    field text not null, kind text not null, removed integer not null default 0,
    unique(tenant, product, device, field, kind, removed)) strict`,
  "create index if not exists series_removed on series(id) where removed <> 0",
  // loose: flushes since the month was last compacted; dropped: 1 from the decision to the unlink
  `create table if not exists part(
    start integer primary key, stop integer not null, path text not null unique, format integer not null,
    loose integer not null default 0, dropped integer not null default 0) strict`,
];

/** A month file: start taken, stop not (microseconds); `path` is a name in the store's folder. */
export interface Part {
  readonly start: number;
  readonly stop: number;
  readonly path: string;
}

export interface PartState extends Part {
  readonly loose: number;
  readonly dropped: boolean;
}

export interface Catalog {
  /** Ids of the series, made where missing; same order. A bounded number at once: one transaction. */
  ids(keys: readonly SeriesKey[]): Promise<number[]>;
  /** The id of a series, 0 when it has none yet. */
  find(key: SeriesKey): Promise<number>;
  markRemoved(scope: RemovedScope): Promise<void>;
  /** A removed series whose points may still lie in files. */
  nextRemoved(): Promise<number | undefined>;
  forget(id: number): Promise<void>;
  isText(id: number): Promise<boolean>;
  parts(): Promise<PartState[]>;
  addPart(part: Part): Promise<void>;
  /** The last step of a flush: its months count one flush more, and the checkpoint moves. */
  finishFlush(starts: readonly number[], checkpoint: number): Promise<void>;
  /** Takes back the flushes that a compaction has dealt with. */
  tighten(start: number, flushes: number): Promise<void>;
  /** Marks every part that ends at or before `time` and keeps `time` as the floor, in one step. */
  dropBefore(time: number): Promise<void>;
  removePart(start: number): Promise<void>;
  number(key: "checkpoint" | "floor"): Promise<number | undefined>;
  clearFloor(): Promise<void>;
  close(): void;
}

const keyArgs = (key: SeriesKey): InValue[] => [
  BigInt(key.tenant),
  key.productID,
  key.deviceID,
  key.field,
  key.kind,
];

/** @throws StoreError CORRUPT when the folder was written by a newer version or has lost its catalog. */
export async function openCatalog(dir: string): Promise<Catalog> {
  const path = join(dir, "catalog.db");
  if (!existsSync(path) && readdirSync(dir).some((name) => /^points-.*\.db$/.test(name))) {
    throw new StoreError("CORRUPT", `cannot open series store: ${dir} holds points but no catalog.db`);
  }
  const client = await openFile(path, { journal_mode: "wal", synchronous: 2, cache_size: -4096 });
  try {
    await checkFormat(client);
  } catch (error) {
    client.close();
    throw error;
  }
  return createCatalog(client);
}

async function checkFormat(client: Client): Promise<void> {
  const version = Number((await client.execute("pragma user_version")).rows[0]?.[0] ?? 0);
  if (version > SERIES_FORMAT) throw newerFormat("catalog.db", version);
  await client.batch([...DDL, `pragma user_version = ${SERIES_FORMAT}`], "write");
}

export function newerFormat(name: string, version: number): StoreError {
  return new StoreError(
    "CORRUPT",
    `cannot open series store: ${name} has format ${version}, this version reads up to ${SERIES_FORMAT}`,
  );
}

function createCatalog(client: Client): Catalog {
  async function run(sql: string, args: InValue[] = []): Promise<void> {
    await client.execute({ sql, args });
  }

  /** Names hold neither NUL nor half a surrogate pair (series-handles.ts), so JSON may carry them into SQL. */
  async function idsOf(keys: readonly SeriesKey[]): Promise<number[]> {
    const names = keys.map((key) => [key.tenant, key.productID, key.deviceID, key.field, key.kind]);
    const args = [JSON.stringify(names)];
    const [, found] = await client.batch(
      [
        {
          sql: `insert into series(tenant, product, device, field, kind)
            select value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?) where true
            on conflict do nothing`,
          args,
        },
        {
          sql: `select s.id from json_each(?) k cross join series s
            on s.tenant = k.value->>0 and s.product = k.value->>1 and s.device = k.value->>2
              and s.field = k.value->>3 and s.kind = k.value->>4 and s.removed = 0
            order by k.key`,
          args,
        },
      ],
      "write",
    );
    const rows = found?.rows ?? [];
    if (rows.length !== keys.length)
      throw new StoreError("CORRUPT", "cannot name series: catalog.db lost rows");
    return rows.map((row) => Number(row[0]));
  }

  return {
    ids: idsOf,
    find: async (key) => {
      const sql = `select id from series
        where tenant = ? and product = ? and device = ? and field = ? and kind = ? and removed = 0`;
      return Number((await client.execute({ sql, args: keyArgs(key) })).rows[0]?.[0] ?? 0);
    },
    markRemoved: ({ tenant, productID, deviceID, field }) =>
      run(
        `update series set removed = id where tenant = ?1 and product = ?2 and removed = 0
          and ${deviceID === undefined ? "field" : "device"} = ?3`,
        [BigInt(tenant), productID, deviceID ?? field ?? ""],
      ),
    nextRemoved: async () => {
      const { rows } = await client.execute("select id from series where removed <> 0 order by id limit 1");
      return rows[0] === undefined ? undefined : Number(rows[0][0]);
    },
    forget: (id) => run("delete from series where id = ? and removed <> 0", [BigInt(id)]),
    isText: async (id) => {
      const { rows } = await client.execute({
        sql: "select kind from series where id = ?",
        args: [BigInt(id)],
      });
      return rows[0]?.[0] === "text";
    },
    parts: async () => {
      const { rows } = await client.execute(
        "select start, stop, path, format, loose, dropped from part order by start",
      );
      const newer = rows.find((row) => Number(row[3]) > SERIES_FORMAT);
      if (newer !== undefined) throw newerFormat(String(newer[2]), Number(newer[3]));
      return rows.map((row) => ({
        start: Number(row[0]),
        stop: Number(row[1]),
        path: String(row[2]),
        loose: Number(row[4]),
        dropped: row[5] === 1,
      }));
    },
    addPart: ({ start, stop, path }) =>
      run("insert into part(start, stop, path, format) values (?, ?, ?, ?) on conflict do nothing", [
        BigInt(start),
        BigInt(stop),
        path,
        BigInt(SERIES_FORMAT),
      ]),
    finishFlush: (starts, checkpoint) =>
      inTransaction(client, async (tx) => {
        for (const start of starts) {
          await tx.execute({
            sql: "update part set loose = loose + 1 where start = ?",
            args: [BigInt(start)],
          });
        }
        await tx.execute({
          sql: "insert or replace into meta values ('checkpoint', ?)",
          args: [BigInt(checkpoint)],
        });
      }),
    tighten: (start, flushes) =>
      run("update part set loose = max(0, loose - ?2) where start = ?1", [BigInt(start), BigInt(flushes)]),
    dropBefore: (time) =>
      inTransaction(client, async (tx) => {
        await tx.execute({ sql: "update part set dropped = 1 where stop <= ?", args: [BigInt(time)] });
        await tx.execute({ sql: "insert or replace into meta values ('floor', ?)", args: [BigInt(time)] });
      }),
    removePart: (start) => run("delete from part where start = ?", [BigInt(start)]),
    number: async (key) => {
      const { rows } = await client.execute({ sql: "select value from meta where key = ?", args: [key] });
      return rows[0] === undefined ? undefined : Number(rows[0][0]);
    },
    clearFloor: () => run("delete from meta where key = 'floor'"),
    close: () => client.close(),
  };
}
