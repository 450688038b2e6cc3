import type { Db } from "../db/db.js";

/** Runs a statement that changes one row, or none: false. */
export async function changesRow(
  db: Pick<Db, "write">,
  sql: string,
  args: (number | string | null)[],
): Promise<boolean> {
  const [result] = await db.write([{ sql, args }]);
  return result?.rowsAffected === 1;
}
