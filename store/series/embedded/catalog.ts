import { join } from "node:path";
import type { Client, InValue } from "@libsql/client/sqlite3";
import { StoreError } from "../../lib/errors.js";
import type { DeviceKey } from "../series.js";
import {
  CATALOG_PRAGMAS,
  type CatalogClient,
  type CatalogListeners,
  formatOf,
  guarded,
  keyOfRow,
  markSuspect,
  openLog,
  remakeCatalog,
  whyUnusable,
} from "./catalog-file.js";
import {
  CATALOG_FORMAT,
  CATALOG_SCHEMA,
  CATALOG_TO_FORMAT_2,
  newerFormat,
  PART_FORMAT,
  type Part,
  removalsOf,
} from "./catalog-schema.js";
import type { RemovedScope, SeriesKey } from "./names.js";
import type { NamesLog } from "./names-log.js";
import { inTransaction, openFile } from "./sqlite.js";
import type { Times } from "./stored-part.js";

/** Of its file in the store's folder. */
export const catalogName = "catalog.db";

interface PartState extends Part {
  readonly loose: number;
  readonly dropped: boolean;
  /** Of the file. */
  readonly format: number;
  /** The series that it may hold (held.ts) as of the version `file` of its file; null: not known. */
  readonly held: ArrayBuffer | null;
  readonly file: string | null;
  /** First and last time that flushes have brought to their end; null: not known. */
  readonly flushed: Times | null;
}

/** A gap as it is kept: `series` is an id, 0 for all. */
export interface GapRow {
  readonly id: number;
  readonly start: number;
  readonly stop: number;
  readonly series: number;
}

export interface Catalog {
  /** Ids of the series, made where missing; same order. A bounded number at once: one transaction. */
  ids(keys: readonly SeriesKey[]): Promise<number[]>;
  /** The id of a series, 0 when it has none yet. */
  find(key: SeriesKey): Promise<number>;
  /** Indexes of the devices that have a living series; a bounded number at once. */
  devicesWithSeries(devices: readonly DeviceKey[]): Promise<number[]>;
  /** A bounded number at once: one transaction. */
  markRemoved(scopes: readonly RemovedScope[]): Promise<void>;
  /** A removed series whose points may still lie in files. */
  nextRemoved(): Promise<number | undefined>;
  forget(id: number): Promise<void>;
  isText(id: number): Promise<boolean>;
  parts(): Promise<PartState[]>;
  addPart(part: Part): Promise<void>;
  /** The part stands for what is left of its span, and a new one for the rest, in one step. */
  cutPart(part: Part, left: Pick<Part, "start" | "stop">, made: Part): Promise<void>;
  /** The series that a part may hold, as of a version of its file. */
  setHeld(part: Part, held: Uint8Array, file: string): Promise<void>;
  /** The part now lies in another file, or in one that has been brought to this format. */
  replacePart(part: Part): Promise<void>;
  /** The name of a series; undefined when it has none, or is removed. */
  nameOf(id: number): Promise<SeriesKey | undefined>;
  addGap(gap: Omit<GapRow, "id">): Promise<GapRow>;
  gaps(): Promise<GapRow[]>;
  removeGap(id: number): Promise<void>;
  /** The last step of a flush: its parts count one flush more, and the checkpoint moves. */
  finishFlush(
    parts: readonly { readonly start: number; readonly flushed: Times | null }[],
    checkpoint: number,
  ): Promise<void>;
  /** Takes back the flushes that a compaction has dealt with. */
  tighten(start: number, flushes: number): Promise<void>;
  /** Marks every part that ends at or before `time` and keeps `time` as the floor, in one step. */
  dropBefore(time: number): Promise<void>;
  removePart(part: Pick<Part, "start" | "path">): Promise<void>;
  number(key: "checkpoint" | "floor"): Promise<number | undefined>;
  clearFloor(): Promise<void>;
  /** A check has found its file damaged: the next start makes it again. */
  suspect(fault: string): void;
  close(): void;
}

/**
 * As a double: a part, or a limit of retention, may begin where whole microseconds are no longer safe integers,
 * which the client refuses to give. Such edges are whole milliseconds, exact in a double.
 */
const edge = (column: string): string => `cast(${column} as real)`;

const keyArgs = (key: SeriesKey): InValue[] => [
  BigInt(key.tenant),
  key.productID,
  key.deviceID,
  key.field,
  key.kind,
];

/** In place of one that is on its way out, should it begin at the same time. */
const insertPart = ({ start, stop, path }: Part) => ({
  sql: "insert or replace into part(start, stop, path, format) values (?, ?, ?, ?)",
  args: [BigInt(start), BigInt(stop), path, BigInt(PART_FORMAT)],
});

/**
 * Opens the catalog; one that is damaged, or missing where there are files of points, is made again from names.log and
 * those files. @throws StoreError UNAVAILABLE when the folder was written by a newer version
 */
export async function openCatalog(dir: string, listeners: CatalogListeners): Promise<Catalog> {
  const path = join(dir, "catalog.db");
  const fault = await whyUnusable(dir);
  if (fault !== null) await remakeCatalog(dir, fault, listeners.onDamage);
  const client = await openFile(path, CATALOG_PRAGMAS);
  try {
    await checkFormat(client);
    const log = await openLog(join(dir, "names.log"), client);
    return createCatalog(guarded(client, dir, listeners), log, (fault) =>
      markSuspect(dir, fault, listeners.onDamage),
    );
  } catch (error) {
    client.close();
    throw error;
  }
}

async function checkFormat(client: Client): Promise<void> {
  const version = await formatOf(client);
  if (version > CATALOG_FORMAT) throw newerFormat("catalog.db", version, CATALOG_FORMAT);
  const steps = version === 1 ? CATALOG_TO_FORMAT_2 : [];
  await client.batch([...CATALOG_SCHEMA, ...steps, `pragma user_version = ${CATALOG_FORMAT}`], "write");
}

function createCatalog(client: CatalogClient, log: NamesLog, suspect: (fault: string) => void): Catalog {
  let lastID = log.lastID ?? 0;

  async function run(sql: string, args: InValue[] = []): Promise<void> {
    await client.execute({ sql, args });
  }

  /** Names hold neither NUL nor half a surrogate pair (names.ts), so JSON may carry them into SQL. */
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
    const ids = rows.map((row) => Number(row[0]));
    logNew(keys, ids);
    return ids;
  }

  /** Ids ascend: what lies above those in the log is new. */
  function logNew(keys: readonly SeriesKey[], ids: readonly number[]): void {
    const fresh = ids.flatMap((id, i) => (id > lastID ? [{ id, key: keys[i] as SeriesKey }] : []));
    for (const { id, key } of fresh.sort((a, b) => a.id - b.id)) {
      log.name(id, key);
      lastID = id;
    }
    log.write(false);
  }

  return {
    ids: idsOf,
    find: async (key) => {
      const sql = `select id from series
        where tenant = ? and product = ? and device = ? and field = ? and kind = ? and removed = 0`;
      return Number((await client.execute({ sql, args: keyArgs(key) })).rows[0]?.[0] ?? 0);
    },
    devicesWithSeries: async (devices) => {
      const { rows } = await client.execute({
        sql: `select k.key from json_each(?) k where exists (select 1 from series s
          where s.tenant = k.value->>0 and s.product = k.value->>1 and s.device = k.value->>2 and s.removed = 0)`,
        args: [
          JSON.stringify(devices.map(({ tenant, productID, deviceID }) => [tenant, productID, deviceID])),
        ],
      });
      return rows.map((row) => Number(row[0]));
    },
    markRemoved: async (scopes) => {
      for (const scope of scopes) log.removal(scope);
      log.write(true);
      await client.batch(removalsOf(scopes), "write");
    },
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
        `select ${edge("start")}, ${edge("stop")}, path, format, loose, dropped, held, file, low, high
          from part order by start`,
      );
      const newer = rows.find((row) => Number(row[3]) > PART_FORMAT);
      if (newer !== undefined) throw newerFormat(String(newer[2]), Number(newer[3]), PART_FORMAT);
      return rows.map((row) => ({
        start: Number(row[0]),
        stop: Number(row[1]),
        path: String(row[2]),
        loose: Number(row[4]),
        dropped: row[5] === 1,
        format: Number(row[3]),
        held: row[6] as ArrayBuffer | null,
        file: row[7] as string | null,
        flushed: row[8] === null ? null : { low: Number(row[8]), high: Number(row[9]) },
      }));
    },
    addPart: async (part) => {
      await client.execute(insertPart(part));
    },
    cutPart: async (part, left, made) => {
      const sql = "update part set start = ?2, stop = ?3 where start = ?1";
      const args = [part.start, left.start, left.stop].map(BigInt);
      await client.batch([{ sql, args }, insertPart(made)], "write");
    },
    setHeld: ({ start }, held, file) =>
      run("update part set held = ?2, file = ?3 where start = ?1", [BigInt(start), held, file]),
    replacePart: ({ start, path }) =>
      run("update part set path = ?2, format = ?3 where start = ?1", [
        BigInt(start),
        path,
        BigInt(PART_FORMAT),
      ]),
    nameOf: async (id) => {
      const { rows } = await client.execute({
        sql: "select tenant, product, device, field, kind from series where id = ? and removed = 0",
        args: [BigInt(id)],
      });
      return rows[0] === undefined ? undefined : keyOfRow(rows[0]);
    },
    addGap: async ({ start, stop, series }) => {
      const { lastInsertRowid } = await client.execute({
        sql: "insert into gap(start, stop, series) values (?, ?, ?)",
        args: [BigInt(start), BigInt(stop), BigInt(series)],
      });
      return { id: Number(lastInsertRowid), start, stop, series };
    },
    gaps: async () => {
      const { rows } = await client.execute(
        `select id, ${edge("start")}, ${edge("stop")}, series from gap order by id`,
      );
      return rows.map((row) => ({
        ...{ id: Number(row[0]), start: Number(row[1]), stop: Number(row[2]), series: Number(row[3]) },
      }));
    },
    removeGap: (id) => run("delete from gap where id = ?", [BigInt(id)]),
    finishFlush: async (parts, checkpoint) => {
      await inTransaction(client, async (tx) => {
        for (const { start, flushed } of parts) {
          const [low, high] = flushed === null ? [null, null] : [BigInt(flushed.low), BigInt(flushed.high)];
          await tx.execute({
            sql: "update part set loose = loose + 1, low = ?2, high = ?3 where start = ?1",
            args: [BigInt(start), low, high],
          });
        }
        await tx.execute({
          sql: "insert or replace into meta values ('checkpoint', ?)",
          args: [BigInt(checkpoint)],
        });
      });
      log.checkpoint(checkpoint, lastID);
      log.write(true);
    },
    tighten: (start, flushes) =>
      run("update part set loose = max(0, loose - ?2) where start = ?1", [BigInt(start), BigInt(flushes)]),
    dropBefore: (time) =>
      inTransaction(client, async (tx) => {
        await tx.execute({ sql: "update part set dropped = 1 where stop <= ?", args: [BigInt(time)] });
        await tx.execute({ sql: "insert or replace into meta values ('floor', ?)", args: [BigInt(time)] });
      }),
    removePart: ({ start, path }) =>
      run("delete from part where start = ? and path = ?", [BigInt(start), path]),
    number: async (key) => {
      const { rows } = await client.execute({
        sql: `select ${edge("value")} from meta where key = ?`,
        args: [key],
      });
      return rows[0] === undefined ? undefined : Number(rows[0][0]);
    },
    clearFloor: () => run("delete from meta where key = 'floor'"),
    suspect,
    close: () => {
      log.close();
      client.close();
    },
  };
}
