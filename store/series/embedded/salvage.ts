/** Copies what can still be read of a damaged file of points into a new one. */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Client, Row } from "@libsql/client/sqlite3";
import { closeFile } from "../../files/closing.js";
import { isDamage } from "../../files/database-faults.js";
import { createYielder } from "../../lib/scheduling.js";
import { chunkSum } from "./checksums.js";
import { insertChunks, type NewChunk } from "./chunk-rows.js";
import { openPartFile } from "./part-file.js";
import { inTransaction, openFile } from "./sqlite.js";

interface Salvaged {
  readonly chunks: number;
  readonly bytes: number;
}

const chunksAtOnceMax = 32;
const idMax = 2 ** 50;

/**
 * Copies the sound chunks of a file of points into a new one, which replaces it once complete.
 * @param open the open connection to the damaged file, if there is one: the file itself may be gone
 */
export async function salvageFile(
  path: string,
  open: Client | null,
  into: string,
  isText: (series: number) => Promise<boolean>,
): Promise<Salvaged> {
  try {
    const to = await openPartFile(into, true);
    try {
      if (open !== null) return await salvage(open, to, isText);
      const from = await openDamaged(path);
      if (from === null) return { chunks: 0, bytes: 0 };
      try {
        return await salvage(from, to, isText);
      } finally {
        await closeFile(from);
      }
    } finally {
      await closeFile(to);
    }
  } catch (error) {
    // The next try begins with a new file.
    for (const suffix of ["", "-wal", "-shm"]) await rm(into + suffix, { force: true });
    throw error;
  }
}

/**
 * Copies every chunk that can be read and is what was written. Ids stay, because they decide which of two chunks wins.
 */
async function salvage(
  from: Client,
  to: Client,
  isText: (series: number) => Promise<boolean>,
): Promise<Salvaged> {
  const yieldIfDue = createYielder();
  const hasSums = await readable(() => hasSumColumn(from), false);
  let after = 0;
  let chunks = 0;
  let bytes = 0;

  const read = (above: number, limit: number): Promise<Row[] | null> =>
    readable(async () => {
      const sum = hasSums ? "sum" : "null";
      const sql = `select id, series, start, stop, n, ${sum}, data from chunk where id > ? order by id limit ?`;
      const { rows } = await from.execute({ sql, args: [BigInt(above), BigInt(limit)] });
      // A page that is no page as it was written may give rows in any order, again and again.
      return ascend(rows, above) ? rows : null;
    }, null);

  /** The id to go on from where the row after `unread` cannot be read; undefined at the end. */
  async function jump(unread: number): Promise<number | undefined> {
    let step = 1;
    while ((await read(unread + step, 1)) === null) {
      step *= 2;
      if (unread + step > idMax) return undefined;
    }
    let low = unread + Math.floor(step / 2);
    let high = unread + step;
    while (low + 1 < high) {
      const middle = Math.floor((low + high) / 2);
      if ((await read(middle, 1)) === null) low = middle;
      else high = middle;
    }
    return high;
  }

  for (;;) {
    const rows = (await read(after, chunksAtOnceMax)) ?? (await read(after, 1));
    if (rows === null) {
      const next = await jump(after);
      if (next === undefined) break;
      after = next;
      continue;
    }
    if (rows.length === 0) break;
    const sound: NewChunk[] = [];
    for (const row of rows) {
      const chunk = await soundChunk(row, isText);
      if (chunk !== null) sound.push(chunk);
    }
    await inTransaction(to, (tx) => insertChunks(tx, sound));
    chunks += sound.length;
    bytes += sound.reduce((sum, { data }) => sum + data.length, 0);
    after = Number(rows.at(-1)?.[0]);
    await yieldIfDue();
  }
  return { chunks, bytes };
}

function ascend(rows: readonly Row[], above: number): boolean {
  return rows.every((row, i) => Number(row[0]) > (i === 0 ? above : Number(rows[i - 1]?.[0])));
}

async function soundChunk(row: Row, isText: (series: number) => Promise<boolean>): Promise<NewChunk | null> {
  const [id, series, start, stop, points] = [0, 1, 2, 3, 4].map((i) => Number(row[i])) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const data = new Uint8Array(row[6] as ArrayBuffer);
  const head = { series, start, stop, points };
  if (series < 1 || (row[5] !== null && chunkSum(head, data) !== Number(row[5]))) return null;
  // Without a name for the series, the length of the data decides.
  const text = (await isText(series)) || data.length !== points * 16;
  const fits = text ? data.length >= points * 12 : data.length === points * 16;
  return fits ? { id, ...head, text, data } : null;
}

async function hasSumColumn(client: Client): Promise<boolean> {
  const { rows } = await client.execute("select 1 from pragma_table_info('chunk') where name = 'sum'");
  return rows.length > 0;
}

async function readable<T, F>(read: () => Promise<T>, otherwise: F): Promise<T | F> {
  try {
    return await read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return otherwise;
  }
}

/** Null where nothing at all can be read. */
async function openDamaged(path: string): Promise<Client | null> {
  if (!existsSync(path)) return null;
  try {
    return await openFile(path, { query_only: 1 });
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}
