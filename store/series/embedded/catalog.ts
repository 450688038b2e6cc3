/** What the store knows of its files, in catalog.db: series, parts, gaps, and how far the journals have come. */

import { join } from "node:path";
import type { Client, InValue } from "@libsql/client/sqlite3";
import {
  type CatalogClient,
  type CatalogListeners,
  catalogPragmas,
  markSuspect,
  openNamesLogOfCatalog,
  readFormat,
  remakeCatalog,
  watchForDamage,
  whyUnusable,
} from "./catalog-file.js";
import { type CatalogNames, createCatalogNames } from "./catalog-names.js";
import { type CatalogParts, createCatalogParts } from "./catalog-parts.js";
import { catalogFormat, catalogSchema, catalogToFormat2, edge, newerFormat } from "./catalog-schema.js";
import { type Checkpoints, parseCheckpoints, replaceCheckpoints, selectCheckpoints } from "./checkpoints.js";
import type { NamesLog } from "./names-log.js";
import { inTransaction, openFile } from "./sqlite.js";
import type { Times } from "./stored-part.js";

/** The catalog's file name in the store's folder. */
export const catalogName = "catalog.db";

/** A gap as it is kept: `series` is an id, 0 for all. */
export interface GapRow {
  readonly id: number;
  readonly start: number;
  readonly stop: number;
  readonly series: number;
}

export interface SeriesCatalog extends CatalogNames, CatalogParts {
  addGap(gap: Omit<GapRow, "id">): Promise<GapRow>;
  gaps(): Promise<GapRow[]>;
  removeGap(id: number): Promise<void>;
  /** The last step of a flush: each of its parts counts one more flush, and the checkpoints move. */
  finishFlush(
    parts: readonly { readonly start: number; readonly flushed: Times | null }[],
    checkpoints: Checkpoints,
  ): Promise<void>;
  /** Marks every part that ends at or before `time` and keeps `time` as the floor, in one step. */
  dropBefore(time: number): Promise<void>;
  checkpoints(): Promise<Checkpoints>;
  floor(): Promise<number | undefined>;
  clearFloor(): Promise<void>;
  /** A check has found the catalog's file damaged: the next start makes it again. */
  suspect(fault: string): void;
  close(): void;
}

/**
 * Opens the catalog; one that is damaged, or missing where there are files of points, is made again from names.log and
 * those files. @throws StoreError UNAVAILABLE when the folder was written by a newer version
 */
export async function openCatalog(dir: string, listeners: CatalogListeners): Promise<SeriesCatalog> {
  const path = join(dir, "catalog.db");
  const fault = await whyUnusable(dir);
  if (fault !== null) await remakeCatalog(dir, fault, listeners.onDamage);
  const client = await openFile(path, catalogPragmas);
  try {
    await checkFormat(client);
    const log = await openNamesLogOfCatalog(join(dir, "names.log"), client);
    return createCatalog(watchForDamage(client, dir, listeners), log, (fault) =>
      markSuspect(dir, fault, listeners.onDamage),
    );
  } catch (error) {
    client.close();
    throw error;
  }
}

async function checkFormat(client: Client): Promise<void> {
  const version = await readFormat(client);
  if (version > catalogFormat) throw newerFormat("catalog.db", version, catalogFormat);
  const steps = version === 1 ? catalogToFormat2 : [];
  await client.batch([...catalogSchema, ...steps, `pragma user_version = ${catalogFormat}`], "write");
}

function createCatalog(
  client: CatalogClient,
  log: NamesLog,
  suspect: (fault: string) => void,
): SeriesCatalog {
  const { names, lastID } = createCatalogNames(client, log, log.lastID ?? 0);
  const parts = createCatalogParts(client);

  async function run(sql: string, args: InValue[] = []): Promise<void> {
    await client.execute({ sql, args });
  }

  return {
    ...names,
    ...parts,
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
        id: Number(row[0]),
        start: Number(row[1]),
        stop: Number(row[2]),
        series: Number(row[3]),
      }));
    },
    removeGap: (id) => run("delete from gap where id = ?", [BigInt(id)]),
    finishFlush: async (parts, checkpoints) => {
      await inTransaction(client, async (tx) => {
        for (const { start, flushed } of parts) {
          const [low, high] = flushed === null ? [null, null] : [BigInt(flushed.low), BigInt(flushed.high)];
          await tx.execute({
            sql: "update part set loose = loose + 1, low = ?2, high = ?3 where start = ?1",
            args: [BigInt(start), low, high],
          });
        }
        for (const statement of replaceCheckpoints(checkpoints)) await tx.execute(statement);
      });
      log.checkpoints(checkpoints, lastID());
      log.write(true);
    },
    dropBefore: (time) =>
      inTransaction(client, async (tx) => {
        await tx.execute({ sql: "update part set dropped = 1 where stop <= ?", args: [BigInt(time)] });
        await tx.execute({ sql: "insert or replace into meta values ('floor', ?)", args: [BigInt(time)] });
      }),
    checkpoints: async () => parseCheckpoints((await client.execute(selectCheckpoints)).rows),
    floor: async () => {
      const { rows } = await client.execute(`select ${edge("value")} from meta where key = 'floor'`);
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
