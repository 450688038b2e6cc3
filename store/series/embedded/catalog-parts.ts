/** The catalog's table of parts: the files of points, the span of each, and what it is known to hold. */

import type { InValue } from "@libsql/client/sqlite3";
import type { CatalogClient } from "./catalog-file.js";
import { type CatalogPart, edge, newerFormat, partFormat } from "./catalog-schema.js";
import type { Times } from "./stored-part.js";

interface PartState extends CatalogPart {
  readonly loose: number;
  readonly dropped: boolean;
  /** The format of the file. */
  readonly format: number;
  /** The series that it may hold (series-set.ts) as of the version `file` of its file; null: not known. */
  readonly held: ArrayBuffer | null;
  readonly file: string | null;
  /** First and last time that completed flushes have written; null: not known. */
  readonly flushed: Times | null;
}

export interface CatalogParts {
  parts(): Promise<PartState[]>;
  addPart(part: CatalogPart): Promise<void>;
  /** In one step, the part keeps what is left of its span and a new part takes the rest. */
  cutPart(part: CatalogPart, left: Pick<CatalogPart, "start" | "stop">, made: CatalogPart): Promise<void>;
  /** The series that a part may hold, as of a version of its file. */
  setHeld(part: CatalogPart, held: Uint8Array, file: string): Promise<void>;
  /** The part now lies in another file, or in one that has been brought to this format. */
  replacePart(part: CatalogPart): Promise<void>;
  removePart(part: Pick<CatalogPart, "start" | "path">): Promise<void>;
  /** Subtracts the flushes that a compaction has tidied up. */
  tighten(start: number, flushes: number): Promise<void>;
}

/** Replaces a dropped part that begins at the same time, should there be one. */
const insertPart = ({ start, stop, path }: CatalogPart) => ({
  sql: "insert or replace into part(start, stop, path, format) values (?, ?, ?, ?)",
  args: [BigInt(start), BigInt(stop), path, BigInt(partFormat)],
});

export function createCatalogParts(client: CatalogClient): CatalogParts {
  async function run(sql: string, args: InValue[] = []): Promise<void> {
    await client.execute({ sql, args });
  }

  return {
    parts: async () => {
      const { rows } = await client.execute(
        `select ${edge("start")}, ${edge("stop")}, path, format, loose, dropped, held, file, low, high
          from part order by start`,
      );
      const newer = rows.find((row) => Number(row[3]) > partFormat);
      if (newer !== undefined) throw newerFormat(String(newer[2]), Number(newer[3]), partFormat);
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
        BigInt(partFormat),
      ]),
    removePart: ({ start, path }) =>
      run("delete from part where start = ? and path = ?", [BigInt(start), path]),
    tighten: (start, flushes) =>
      run("update part set loose = max(0, loose - ?2) where start = ?1", [BigInt(start), BigInt(flushes)]),
  };
}
