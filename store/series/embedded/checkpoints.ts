/** How far the journals that feed a store have been written out to its files, and how the catalog keeps that. */

import type { InStatement, Row } from "@libsql/client/sqlite3";
import { shardOfID } from "../../journal/shard-ids.js";
import { StoreError } from "../../lib/errors.js";

/** By shard: the id up to which everything of its journal is in the files. A shard that is missing is at its beginning. */
export type Checkpoints = ReadonlyMap<number, number>;

/** For each shard the highest id counts. 0 is before the first of any. */
export function createCheckpoints(ids: Iterable<number>): Checkpoints {
  const checkpoints = new Map<number, number>();
  for (const id of ids) {
    const shard = shardOfID(id);
    if (id > (checkpoints.get(shard) ?? 0)) checkpoints.set(shard, id);
  }
  return checkpoints;
}

/**
 * The checkpoint of a shard, 0 before its first. With null: that of the only journal that the store follows.
 * @throws StoreError INVALID when null could mean several
 */
export function findCheckpoint(checkpoints: Checkpoints, shard: number | null): number {
  if (shard !== null) return checkpoints.get(shard) ?? 0;
  const [id = 0, ...others] = checkpoints.values();
  if (others.length === 0) return id;
  const shards = [...checkpoints.keys()].sort((a, b) => a - b).join(", ");
  throw new StoreError("INVALID", `cannot tell the checkpoint: whose, of the shards ${shards}?`);
}

/**
 * A row of the catalog's table `meta` for each shard. Until there were shards it was one row without a number; whose
 * it is, its id says.
 */
const keys = "key = 'checkpoint' or key glob 'checkpoint/*'";

export const selectCheckpoints = `select value from meta where ${keys}`;

export const parseCheckpoints = (rows: readonly Row[]): Checkpoints =>
  createCheckpoints(rows.map((row) => Number(row[0])));

/** Statements of one transaction; a shard that is missing goes back to its beginning. */
export function replaceCheckpoints(checkpoints: Checkpoints): InStatement[] {
  return [
    `delete from meta where ${keys}`,
    {
      sql: "insert into meta select 'checkpoint/' || key, value from json_each(?)",
      args: [JSON.stringify(Object.fromEntries(checkpoints))],
    },
  ];
}
