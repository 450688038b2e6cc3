/** The topmost device above each device, however far: its shard follows from it. */
import type { Db } from "../db/db.js";

interface Topmost {
  /** The record id of the topmost device above it; its own if there is none. */
  readonly id: number;
  /** It, or something above it, has been below something else before. */
  readonly hasMoved: boolean;
}

/** Parameters of one statement. */
const atOnce = 500;

/** By deviceID; over all tenants. Devices that are not there have no entry. */
export async function findTopmost(
  db: Db,
  deviceIDs: readonly string[],
): Promise<ReadonlyMap<string, Topmost>> {
  const found = new Map<string, Topmost>();
  for (let from = 0; from < deviceIDs.length; from += atOnce) {
    const some = deviceIDs.slice(from, from + atOnce);
    // Binds one parameter for each text: json_each must never decode text from outside.
    const marks = some.map(() => "?").join(", ");
    const rows = await db.all<{ deviceID: string; id: number; hasMoved: number }>(
      `with recursive above(deviceID, id, parent) as (
        select d.deviceID, d.id, coalesce(d.gateway, d.parentDevice) from device d where d.deviceID in (${marks})
        union select a.deviceID, d.id, coalesce(d.gateway, d.parentDevice)
          from above a join device d on d.id = a.parent)
      select deviceID, max(case when parent is null then id end) id,
        max(exists (select 1 from device_moved m where m.device = above.id)) hasMoved
      from above group by deviceID`,
      some,
    );
    for (const { deviceID, id, hasMoved } of rows) found.set(deviceID, { id, hasMoved: hasMoved === 1 });
  }
  return found;
}
