import { StoreError } from "../../lib/errors.js";
import { schema } from "./schema.js";
import { controlSchema } from "./schema-control.js";
import { dataSchema } from "./schema-data.js";
import { departedSchema } from "./schema-deleted.js";
import { influxSchema } from "./schema-influx.js";
import { logBytesSchema } from "./schema-log-bytes.js";
import { removalsSchema } from "./schema-removals.js";
import { resourcesSchema } from "./schema-resources.js";
import { unreleasedSchema } from "./schema-unreleased.js";
import type { Db, Statement } from "./sql.js";

/**
 * Ordered, append-only: entry n takes the schema from version n to n + 1. An entry that has been released is
 * never edited.
 */
const migrations: readonly (readonly string[])[] = [
  schema,
  resourcesSchema,
  controlSchema,
  dataSchema,
  removalsSchema,
  influxSchema,
  departedSchema,
  logBytesSchema,
  unreleasedSchema,
];

export const schemaVersion = migrations.length;

/** Brings the metadata schema up to date; refuses one that a newer Tidemark wrote. */
export async function migrate(db: Db): Promise<void> {
  await db.write([{ sql: "create table if not exists format (version integer not null) strict" }]);
  const row = await db.first<{ version: number }>("select version from format");
  const version = row?.version ?? 0;
  if (version > schemaVersion) {
    throw new StoreError(
      "INVALID",
      `cannot open the metadata store: it has format ${version}, this Tidemark knows up to ${schemaVersion}`,
    );
  }
  for (const [from, statements] of migrations.entries()) {
    if (from < version) continue;
    const stamp: Statement[] = [
      { sql: "delete from format" },
      { sql: "insert into format (version) values (?)", args: [from + 1] },
    ];
    await db.write([...statements.map((sql) => ({ sql })), ...stamp]);
  }
}
