import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Client, Transaction } from "@libsql/client/sqlite3";
import { closeFile } from "../../files/closing.js";
import { isDamage } from "../../files/database-faults.js";
import { buildRemovals, catalogFormat, catalogSchema, partFormat } from "./catalog-schema.js";
import { type Checkpoints, replaceCheckpoints } from "./checkpoints.js";
import { type Month, toMonth } from "./months.js";
import type { SeriesKey } from "./names.js";
import { readNamesLog } from "./names-log.js";
import { isBlank, storedSeries, storedTimes } from "./part-file.js";
import { type FoundFile, isKnown, placeFiles } from "./spans.js";
import { inTransaction, openFile } from "./sqlite.js";
import type { Times } from "./stored-part.js";

const partFile = /^points-(\d{4,})-(\d{2})(?:\.(\d+))?\.db$/;

/** The files of points in a folder, by their names. */
export function partFiles(dir: string): { path: string; month: Month; generation: number }[] {
  return readdirSync(dir).flatMap((path) => {
    const [, year, month, generation = "1"] = partFile.exec(path) ?? [];
    if (year === undefined) return [];
    const of = toMonth(Date.UTC(Number(year), Number(month) - 1) * 1000);
    return [{ path, month: of, generation: Number(generation) }];
  });
}

interface Made {
  readonly series: number;
  readonly files: number;
  /** Files that are left out because they hold times that belong to another file. */
  readonly unplaced: readonly string[];
  /** Those that cannot be read: whatever they held is a gap. */
  readonly unread: readonly string[];
  /** Series that have chunks but no name. */
  readonly nameless: number;
}

const rowsAtOnceMax = 200;

/** Fills a new catalog from names.log and the files of points, in one transaction with its schema. */
export async function fillCatalog(client: Client, dir: string, log: string): Promise<Made> {
  const inFiles = new Set<number>();
  const found: FoundFile[] = [];
  for (const { path, month, generation } of partFiles(dir)) {
    // A cut that was killed leaves a file without points.
    if (await isBlank(join(dir, path))) continue;
    const content = await readContent(join(dir, path));
    for (const id of content?.series ?? []) inFiles.add(id);
    found.push({ path, generation, held: content === null ? month : content.held });
  }
  const { placed: parts, unplaced } = placeFiles(found);
  return inTransaction(client, async (tx) => {
    // Its first transaction stamps the format: a file without it holds nothing yet.
    for (const sql of [...catalogSchema, `pragma user_version = ${catalogFormat}`]) await tx.execute(sql);
    const named = await takeLog(tx, log);
    for (const { start, stop, path, held } of parts) {
      // The format of a file is checked when it is opened.
      await tx.execute({
        sql: "insert into part(start, stop, path, format, low, high, loose) values (?, ?, ?, ?, ?, ?, 1)",
        args: [
          BigInt(start),
          BigInt(stop),
          path,
          BigInt(partFormat - 1),
          ...(held === null ? [null, null] : [BigInt(held.low), BigInt(held.high)]),
        ],
      });
    }
    const nameless = [...inFiles].filter((id) => !named.has(id));
    // Ids are never given twice, or a new series would answer the points of an old one.
    const highest = [...inFiles].reduce((most, id) => Math.max(most, id), 0);
    await tx.execute({
      sql: `insert into series(id, tenant, product, device, field, kind, removed) values (?1, 0, '', '', '', '', ?1)
        on conflict do nothing`,
      args: [BigInt(Math.max(highest, ...[...named].slice(-1)) + 1)],
    });
    const unread = unplaced.filter(({ held }) => held !== null && !isKnown(held));
    const [start, stop] = [parts.at(0)?.start, parts.at(-1)?.stop];
    // It may have held any time.
    if (nameless.length + unread.length > 0 && start !== undefined && stop !== undefined) {
      await tx.execute({
        sql: "insert into gap(start, stop, series) values (?, ?, 0)",
        args: [BigInt(start), BigInt(stop)],
      });
    }
    return {
      series: named.size,
      files: parts.length,
      nameless: nameless.length,
      unplaced: unplaced.filter((file) => !unread.includes(file)).map(({ path }) => path),
      unread: unread.map(({ path }) => path),
    };
  });
}

/** Takes names and removals over in their order, then the last checkpoint of each shard. Returns the ids. */
async function takeLog(tx: Transaction, log: string): Promise<Set<number>> {
  const named = new Set<number>();
  let rows: { id: number; key: SeriesKey }[] = [];
  let checkpoints: Checkpoints = new Map();
  const insert = async (): Promise<void> => {
    if (rows.length === 0) return;
    await tx.execute({
      sql: `insert into series(id, tenant, product, device, field, kind)
        values ${rows.map(() => "(?, ?, ?, ?, ?, ?)").join()} on conflict do nothing`,
      args: rows.flatMap(({ id, key }) => [
        ...[BigInt(id), BigInt(key.tenant), key.productID, key.deviceID, key.field, key.kind],
      ]),
    });
    rows = [];
  };
  for await (const entry of readNamesLog(log, () => undefined)) {
    if (entry.kind === "checkpoints") checkpoints = entry.checkpoints;
    if (entry.kind === "name") {
      named.add(entry.id);
      rows.push(entry);
    }
    if (entry.kind === "removal") {
      await insert();
      for (const statement of buildRemovals([entry.scope])) await tx.execute(statement);
    }
    if (rows.length >= rowsAtOnceMax) await insert();
  }
  await insert();
  if (named.size > 0) for (const statement of replaceCheckpoints(checkpoints)) await tx.execute(statement);
  return named;
}

/** The contents of a file; null where it cannot be read. */
async function readContent(path: string): Promise<{ series: number[]; held: Times | null } | null> {
  try {
    const client = await openFile(path, { query_only: 1 });
    try {
      const held = await storedTimes(client);
      return { series: await storedSeries(client, 0, Number.MAX_SAFE_INTEGER), held };
    } finally {
      await closeFile(client);
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}
