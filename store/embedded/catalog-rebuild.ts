import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Client, Transaction } from "@libsql/client/sqlite3";
import { isDamage } from "../database-faults.js";
import { CATALOG_FORMAT, CATALOG_SCHEMA, MONTH_FORMAT, type Part, removalsOf } from "./catalog-schema.js";
import { monthOf } from "./months.js";
import type { SeriesKey } from "./names.js";
import { readNamesLog } from "./names-log.js";
import { inTransaction, openFile } from "./sqlite.js";

const monthFile = /^points-(\d{4,})-(\d{2})(?:\.(\d+))?\.db$/;

/** Month files of a folder; of a month that was moved, the newest. */
export function monthFiles(dir: string): Part[] {
  const newest = new Map<number, Part & { readonly generation: number }>();
  for (const path of readdirSync(dir)) {
    const [, year, month, generation = "1"] = monthFile.exec(path) ?? [];
    if (year === undefined) continue;
    const { start, stop } = monthOf(Date.UTC(Number(year), Number(month) - 1) * 1000);
    const found = { start, stop, path, generation: Number(generation) };
    if ((newest.get(start)?.generation ?? 0) < found.generation) newest.set(start, found);
  }
  return [...newest.values()];
}

export interface Made {
  readonly series: number;
  readonly months: number;
  /** Series that have chunks and no name. */
  readonly nameless: number;
}

const ROWS_AT_ONCE_MAX = 200;

/** Fills a new catalog from names.log and the month files, in one transaction with its schema. */
export async function fillCatalog(client: Client, dir: string, log: string): Promise<Made> {
  const parts = monthFiles(dir);
  const inFiles = new Set<number>();
  for (const part of parts) for (const id of await seriesOf(join(dir, part.path))) inFiles.add(id);
  return inTransaction(client, async (tx) => {
    // Its first transaction stamps the format: a file without it holds nothing yet.
    for (const sql of [...CATALOG_SCHEMA, `pragma user_version = ${CATALOG_FORMAT}`]) await tx.execute(sql);
    const named = await takeLog(tx, log);
    for (const { start, stop, path } of parts) {
      // Formats are looked at as the files are opened.
      await tx.execute({
        sql: "insert into part(start, stop, path, format, loose) values (?, ?, ?, ?, 1)",
        args: [BigInt(start), BigInt(stop), path, BigInt(MONTH_FORMAT - 1)],
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
    const [first, last] = [parts.at(0), parts.at(-1)];
    if (nameless.length > 0 && first !== undefined && last !== undefined) {
      const [start, stop] = [
        Math.min(...parts.map((part) => part.start)),
        Math.max(...parts.map((part) => part.stop)),
      ];
      await tx.execute({
        sql: "insert into gap(start, stop, series) values (?, ?, 0)",
        args: [BigInt(start), BigInt(stop)],
      });
    }
    return { series: named.size, months: parts.length, nameless: nameless.length };
  });
}

/** The names, in their order with the removals between them, and the last checkpoint. Returns the ids. */
async function takeLog(tx: Transaction, log: string): Promise<Set<number>> {
  const named = new Set<number>();
  let rows: { id: number; key: SeriesKey }[] = [];
  let checkpoint = 0;
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
    if (entry.kind === "checkpoint") checkpoint = entry.journalID;
    if (entry.kind === "name") {
      named.add(entry.id);
      rows.push(entry);
    }
    if (entry.kind === "removal") {
      await insert();
      for (const statement of removalsOf([entry.scope])) await tx.execute(statement);
    }
    if (rows.length >= ROWS_AT_ONCE_MAX) await insert();
  }
  await insert();
  if (named.size > 0) {
    await tx.execute({ sql: "insert into meta values ('checkpoint', ?)", args: [BigInt(checkpoint)] });
  }
  return named;
}

/** Ids of the series that have chunks in a file, as far as it can be read. */
async function seriesOf(path: string): Promise<number[]> {
  try {
    const client = await openFile(path, { query_only: 1 });
    try {
      const { rows } = await client.execute("select distinct series from chunk where series > 0");
      return rows.map((row) => Number(row[0]));
    } finally {
      client.close();
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [];
  }
}
