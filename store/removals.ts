import type { Db } from "./db.js";

/** Points still to be removed: of a deleted device (deviceID) or of a deleted data point (field). */
export interface Removal {
  readonly id: number;
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string | null;
  readonly field: string | null;
}

export function nextRemoval(db: Db): Promise<Removal | undefined> {
  return db.first<Removal>("select id, tenant, productID, deviceID, field from removal order by id limit 1");
}

/** Frees the deviceID. */
export async function endRemoval(db: Db, id: number): Promise<void> {
  await db.write([{ sql: "delete from removal where id = ?", args: [id] }]);
}
