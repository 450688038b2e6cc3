import type { Db, Statement } from "./db/db.js";

/** How far a consumer of a node's journal has come: every record up to this id has had its effect. */
export async function readCheckpoint(db: Db, node: number, consumer: string): Promise<number> {
  const row = await db.first<{ journalID: number }>(
    "select journalID from checkpoint where node = ? and consumer = ?",
    [node, consumer],
  );
  return row?.journalID ?? 0;
}

/** Must be written in the transaction of the effects that it stands for. */
export function saveCheckpoint(node: number, consumer: string, journalID: number): Statement {
  return {
    sql: `insert into checkpoint (node, consumer, journalID) values (?, ?, ?)
      on conflict do update set journalID = max(journalID, excluded.journalID)`,
    args: [node, consumer, journalID],
  };
}
