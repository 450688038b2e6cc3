/**
 * Which process is to have which shard. A row decides who tries to open the shard, and no more: that no two write to a
 * shard is the work of its log.
 */
import type { Db } from "../db/db.js";
import { changesRow } from "./changes-row.js";
import type { NodeIdentity } from "./cluster-nodes.js";

type Writes = Pick<Db, "write">;

/** Takes a shard from exactly the holder that was seen (null: it was free); false: it has changed hands since. */
export async function takeShard(
  db: Writes,
  shard: number,
  { to, from, now }: { readonly to: NodeIdentity; readonly from: NodeIdentity | null; readonly now: number },
): Promise<boolean> {
  return changesRow(
    db,
    `insert into shard_owner (shard, node, owner, changeAt) values (?, ?, ?, ?)
     on conflict do update set node = excluded.node, owner = excluded.owner, changeAt = excluded.changeAt
     where node is ? and owner is ?`,
    [shard, to.number, to.owner, now, from?.number ?? null, from?.owner ?? null],
  );
}

/** Frees a shard; false: the process has it no more, and the row is left alone. */
export async function freeShard(
  db: Writes,
  shard: number,
  { number, owner }: NodeIdentity,
  now: number,
): Promise<boolean> {
  return changesRow(
    db,
    `update shard_owner set node = null, owner = null, changeAt = ?
     where shard = ? and node = ? and owner = ?`,
    [now, shard, number, owner],
  );
}
