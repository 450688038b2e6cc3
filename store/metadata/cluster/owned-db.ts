import { StoreError } from "../../lib/errors.js";
import type { Db, Statement } from "../db/db.js";
import { assertRow } from "../db/sql-assert.js";
import type { NodeIdentity } from "./cluster-nodes.js";

/**
 * The metadata for what follows from a shard's records: each write happens only while the process has the shard. One
 * that stood still, and goes on after another has taken the shard, changes nothing that the other has written since.
 *
 * Its writes fail with StoreError UNAVAILABLE then: the shard is about to be closed.
 */
export function createOwnedDb(db: Db, shard: number, { number, owner }: NodeIdentity): Db {
  const sql = "select 1 from shard_owner where shard = ? and node = ? and owner = ?";
  const isHolder = assertRow("HOLDER", sql, [shard, number, owner]);
  return {
    ...db,
    write: async (statements: readonly Statement[]) => {
      try {
        return (await db.write([isHolder, ...statements])).slice(1);
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== "MISMATCH") throw error;
        throw new StoreError("UNAVAILABLE", error.message, {}, { cause: error });
      }
    },
  };
}
