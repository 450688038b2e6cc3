import { StoreError } from "../../lib/errors.js";
import { schema } from "./schema.js";
import { alertOutboxSchema } from "./schema-alert-outbox.js";
import { bulkSchema } from "./schema-bulk.js";
import { clusterLacksSchema, clusterSchema, shardCrashesSchema } from "./schema-cluster.js";
import { dashboardsSchema } from "./schema-dashboards.js";
import { dataSchema } from "./schema-data.js";
import { fleetTables } from "./schema-fleet.js";
import { influxSchema } from "./schema-influx.js";
import { influxListSchema, influxShardsSchema } from "./schema-influx-list.js";
import { journalSchema } from "./schema-journal.js";
import { listsSchema } from "./schema-lists.js";
import { logBytesSchema } from "./schema-log-bytes.js";
import { notificationIDsSchema } from "./schema-notification-ids.js";
import { notificationsSchema } from "./schema-notifications.js";
import { overviewSchema } from "./schema-overview.js";
import { placesTables } from "./schema-places.js";
import { resourcesSchema } from "./schema-resources.js";
import { sealingSchema } from "./schema-sealing.js";
import { searchSchema } from "./schema-search.js";
import { startNoticeSchema } from "./schema-start-notice.js";
import { timeZonesSchema } from "./schema-time-zones.js";
import type { Db, Statement } from "./sql.js";

/** Additions for commands beyond their logs: which process issued a message, and which messages wait for a receipt. */
export const controlSchema: readonly string[] = [
  // The process that has issued the message: at its start it finds which messages it still holds.
  "alter table control_log add column node integer not null default 0",
  "create index control_log_issued on control_log (expiresAt) where publishStatus = 1",
];

/** Indexes removals by tenant, because tenants take turns; a deviceID that is still being freed gets its own error. */
export const removalsSchema: readonly string[] = [
  "create index removal_tenant on removal (tenant, id)",
  "drop trigger device_id_free",
  `create trigger device_id_free before insert on device
    when exists (select 1 from removal where deviceID = new.deviceID)
    begin select raise(abort, 'REMOVAL constraint failed: device.deviceID'); end`,
];

/** Logs outlive the device that they concern, and its product too, with the names that both had. */
export const deletedSchema: readonly string[] = [
  "alter table departed_device add column productIntID integer",
  "alter table departed_device add column productName text",
  "create index departed_device_product on departed_device (productIntID)",
];

/** QoS 2 ids that are not released are kept with their sessions, in a store of their own. */
const unreleasedSchema: readonly string[] = ["drop table unreleased"];

/** Sessions of browsers go on with their use, up to an end. */
const browserSessionsSchema: readonly string[] = ["alter table session add column endsAt integer"];

/**
 * Ordered, append-only: entry n takes the schema from version n to n + 1. Never edit an entry that has been released.
 */
export const migrations: readonly (readonly string[])[] = [
  schema,
  resourcesSchema,
  controlSchema,
  dataSchema,
  removalsSchema,
  influxSchema,
  deletedSchema,
  logBytesSchema,
  unreleasedSchema,
  listsSchema,
  searchSchema,
  notificationsSchema,
  browserSessionsSchema,
  overviewSchema,
  placesTables,
  dashboardsSchema,
  fleetTables,
  bulkSchema,
  alertOutboxSchema,
  journalSchema,
  clusterSchema,
  clusterLacksSchema,
  influxListSchema,
  influxShardsSchema,
  shardCrashesSchema,
  notificationIDsSchema,
  startNoticeSchema,
  sealingSchema,
  timeZonesSchema,
];

export const schemaVersion = migrations.length;

/** Brings the metadata schema up to date; refuses a schema that a newer Tidemark wrote. */
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
