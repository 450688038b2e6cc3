/** Processes that share the metadata publish which time zone rules they go by. */
import type { Db } from "../db/db.js";

export interface NodeZones {
  readonly node: number;
  /** Release of the IANA database; null: not known. */
  readonly version: string | null;
}

export async function publishZones(db: Pick<Db, "write">, { node, version }: NodeZones): Promise<void> {
  const sql = `insert into time_zone_version (node, version, seenAt) values (?, ?, unixepoch())
    on conflict do update set version = excluded.version, seenAt = excluded.seenAt`;
  await db.write([{ sql, args: [node, version] }]);
}

/** Reads the versions that other processes have published within so many seconds, by the clock of the database. */
export function readOtherZones(
  db: Pick<Db, "all">,
  node: number,
  withinSeconds: number,
): Promise<NodeZones[]> {
  return db.all<NodeZones>(
    "select node, version from time_zone_version where node <> ? and seenAt >= unixepoch() - ? order by node",
    [node, withinSeconds],
  );
}
