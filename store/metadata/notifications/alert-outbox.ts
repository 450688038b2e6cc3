import type { Db } from "../db/db.js";
import { outboxKinds } from "../db/schema-notifications.js";

/** Beginnings and ends of alerts that have still to be assigned to the routes of their tenant, in their order. */

/** The facts of an alert that notifications contain. Times are milliseconds since 1970. */
export interface AlertFacts {
  readonly id: number;
  readonly cause: string;
  readonly alertName: string;
  readonly alertContent: string;
  readonly alertSeverity: number;
  readonly startTime: number;
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly productIntID: number;
  readonly productName: string;
}

export interface AlertEvent {
  readonly outboxID: number;
  readonly alertIntID: number;
  readonly hasEnded: boolean;
  /** When it began, or ended. */
  readonly at: number;
  /** As it was when it began; null for an end. */
  readonly alert: AlertFacts | null;
}

/** Tenants with a row that satisfies the condition, found without reading the rows. The index begins with `tenant`. */
export const tenantsSql = (table: string, condition: string): string => `
  with recursive t (tenant) as (
    select min(tenant) from ${table} where ${condition}
    union all
    select (select min(tenant) from ${table} where tenant > t.tenant and ${condition}) from t
      where t.tenant is not null)
  select tenant from t where tenant is not null`;

export async function tenantsOfOutbox(db: Db): Promise<number[]> {
  const [rows = []] = await db.lookUp([{ sql: tenantsSql("alert_outbox", "1") }]);
  return (rows as { tenant: number }[]).map((row) => row.tenant);
}

/** The oldest of a tenant. */
export async function readOutbox(db: Db, tenant: number, limit: number): Promise<AlertEvent[]> {
  type Row = Pick<AlertEvent, "outboxID" | "alertIntID" | "at"> & { kind: number; alert: string | null };
  const rows = await db.all<Row>(
    "select id outboxID, alertIntID, kind, at, alert from alert_outbox where tenant = ? order by id limit ?",
    [tenant, limit],
  );
  return rows.map(({ kind, alert, ...event }) => ({
    ...event,
    hasEnded: kind === outboxKinds.ended,
    alert: alert === null ? null : (JSON.parse(alert) as AlertFacts),
  }));
}

/** Which of some groups each of the devices is in. */
export async function groupsOfDevices(
  db: Db,
  devices: readonly number[],
  groups: readonly number[],
): Promise<Map<number, Set<number>>> {
  const found = new Map<number, Set<number>>();
  if (groups.length === 0 || devices.length === 0) return found;
  const rows = await db.all<{ deviceIntID: number; groupIntID: number }>(
    `select deviceIntID, groupIntID from group_member
     where deviceIntID in (select value from json_each(?)) and groupIntID in (select value from json_each(?))`,
    [devices, groups],
  );
  for (const { deviceIntID, groupIntID } of rows) {
    const known = found.get(deviceIntID);
    if (known === undefined) found.set(deviceIntID, new Set([groupIntID]));
    else known.add(groupIntID);
  }
  return found;
}
