import { existsSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client, InStatement, Row, TransactionMode } from "@libsql/client/sqlite3";
import type { Damage } from "../../files/damage.js";
import { isDamage } from "../../files/database-faults.js";
import { findFault, quarantineFile } from "../../files/database-file.js";
import { asError } from "../../lib/errors.js";
import { fillCatalog, partFiles } from "./catalog-rebuild.js";
import { parseCheckpoints, selectCheckpoints } from "./checkpoints.js";
import type { SeriesKey } from "./names.js";
import { clearNamesLog, type NamesLog, openNamesLog } from "./names-log.js";
import { openFile, type Pragmas } from "./sqlite.js";

export interface CatalogListeners {
  readonly onDamage: (damage: Damage) => void;
  /** The catalog can no longer be read: the next start makes it again. */
  readonly onCatalogLost: (error: Error) => void;
}

export type CatalogClient = Pick<Client, "execute" | "batch" | "transaction" | "close">;

export const catalogPragmas: Pragmas = { journal_mode: "wal", synchronous: 2, cache_size: -4096 };

const formatPath = (dir: string): string => join(dir, "catalog.db");
/** A running store that meets damage leaves this file, since the check at the next start may not find the damage. */
const formatSuspectPath = (dir: string): string => join(dir, "catalog.db.suspect");

/** Why a catalog has to be made again; null where it need not be. */
export async function whyUnusable(dir: string): Promise<string | null> {
  const path = formatPath(dir);
  if (existsSync(formatSuspectPath(dir))) return "the last run could not read it";
  const fault = await findFault(path);
  if (fault !== null || partFiles(dir).length === 0) return fault;
  if (!existsSync(path) || statSync(path).size === 0) return "it is missing or empty";
  const client = await openFile(path, catalogPragmas);
  try {
    return (await readFormat(client)) === 0 ? "it is empty" : null;
  } finally {
    client.close();
  }
}

/** Makes the catalog again from names.log and the files of points; what was there is quarantined. */
export async function remakeCatalog(
  dir: string,
  fault: string,
  onDamage: (damage: Damage) => void,
): Promise<void> {
  const path = formatPath(dir);
  const quarantined = existsSync(path) ? `; put aside as ${await quarantineFile(path)}` : "";
  const client = await openFile(path, catalogPragmas);
  try {
    const made = await fillCatalog(client, dir, join(dir, "names.log"));
    const lost = `, ${made.nameless} series have lost their names: their points are left out`;
    const left = `; left out, for another file holds the same time: ${made.unplaced.join(", ")}`;
    for (const name of made.unread) {
      const lostBytes = statSync(join(dir, name)).size;
      const moved = await quarantineFile(join(dir, name));
      const what = `it cannot be read, and another file holds the month of its name: its points, of any time, are left out; put aside as ${moved}`;
      onDamage({ part: "series", file: join(dir, name), what, lostBytes });
    }
    const what = `${fault}${quarantined}; made again from names.log and the files of points: ${made.series} series in ${made.files} files${made.nameless === 0 ? "" : lost}${made.unplaced.length === 0 ? "" : left}`;
    onDamage({ part: "series", file: path, what, lostBytes: 0 });
  } finally {
    client.close();
  }
  await rm(formatSuspectPath(dir), { force: true });
}

/** The next start makes the catalog again; until then what still works goes on. */
export function markSuspect(dir: string, fault: string, onDamage: (damage: Damage) => void): void {
  writeFileSync(formatSuspectPath(dir), fault);
  const what = `${fault}; the next start makes it again from names.log and the files of points`;
  onDamage({ part: "series", file: formatPath(dir), what, lostBytes: 0 });
}

const namedAtOnceMax = 1000;

/** Opens names.log and adds what the catalog has beyond it; a log whose end cannot be read is written anew. */
export async function openNamesLogOfCatalog(path: string, client: Client): Promise<NamesLog> {
  let log = openNamesLog(path);
  const isAnew = log.lastID === null;
  if (isAnew) {
    log.close();
    clearNamesLog(path);
    log = openNamesLog(path);
  }
  let after = log.lastID ?? 0;
  for (;;) {
    const { rows } = await client.execute({
      sql: `select tenant, product, device, field, kind, id, removed from series
        where id > ? order by id limit ?`,
      args: [BigInt(after), BigInt(namedAtOnceMax)],
    });
    const last = rows.at(-1);
    if (last === undefined) break;
    // A removed series must not come back under its name.
    for (const row of rows) if (row[6] === 0) log.name(Number(row[5]), keyOfRow(row));
    log.write(false);
    after = Number(last[5]);
  }
  const checkpoints = parseCheckpoints((await client.execute(selectCheckpoints)).rows);
  if (isAnew && checkpoints.size > 0) log.checkpoints(checkpoints, after);
  log.write(true);
  return log;
}

/** Expects a row that begins with tenant, product, device, field, kind. */
export function keyOfRow(row: Row): SeriesKey {
  const [productID, deviceID, field] = [1, 2, 3].map((i) => String(row[i])) as [string, string, string];
  return { tenant: Number(row[0]), productID, deviceID, field, kind: row[4] as SeriesKey["kind"] };
}

/** The client, which reports a file that turns out damaged and leaves word for the next start. */
export function watchForDamage(
  client: Client,
  dir: string,
  { onCatalogLost }: CatalogListeners,
): CatalogClient {
  const orLost = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (error) {
      if (isDamage(error)) {
        writeFileSync(formatSuspectPath(dir), "");
        onCatalogLost(asError(error));
      }
      throw error;
    }
  };
  return {
    execute: (statement: InStatement) => orLost(client.execute(statement)),
    batch: (statements, mode) => orLost(client.batch(statements, mode)),
    transaction: async (mode: TransactionMode = "write") => {
      const tx = await orLost(client.transaction(mode));
      const execute = tx.execute.bind(tx);
      tx.execute = (statement: InStatement) => orLost(execute(statement));
      return tx;
    },
    close: () => client.close(),
  };
}

export async function readFormat(client: Pick<Client, "execute">): Promise<number> {
  return Number((await client.execute("pragma user_version")).rows[0]?.[0] ?? 0);
}
