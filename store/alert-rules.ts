import { type Actor, deleteStatements, differing, insertStatements, updateStatements } from "./changes.js";
import type { Db } from "./db.js";
import { bytesOf } from "./page-bytes.js";
import {
  getRow,
  integer,
  type Listing,
  listRows,
  type Page,
  type PageRequest,
  stamps,
  text,
} from "./table.js";

/** Raises an alert of a device while `condition`, a formula over its data points, is true. */
export interface AlertRule {
  readonly id: number;
  readonly tenant: number;
  readonly productIntID: number;
  readonly productID: string;
  readonly alertName: string;
  readonly alertContent: string;
  readonly alertSeverity: number;
  /** What the condition calls `dataPoint`. */
  readonly dataPointIntID: number;
  readonly dataPointName: string;
  readonly condition: string;
  /** Seconds for which it must have been true. */
  readonly duration: number;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  bytes: bytesOf("r.alertContent"),
  select: "r.*, p.productID, d.dataPointName",
  from: "alert_rule r join product p on p.id = r.productIntID join data_point d on d.id = r.dataPointIntID",
  filters: {
    productID: { column: "p.productID", type: "text" },
    productIntID: integer("productIntID"),
    alertName: text("alertName"),
    alertContent: text("alertContent"),
    alertSeverity: integer("alertSeverity"),
    dataPointIntID: integer("dataPointIntID"),
    dataPointName: { column: "d.dataPointName", type: "text" },
    condition: text("condition"),
    duration: integer("duration"),
    createUser: text("createUser"),
    ...stamps,
  },
};

export const alertRuleFilters = listing.filters;
export const alertRuleIDs = { name: "alert_rule", column: null } as const;

export function listAlertRules(db: Db, tenant: number, request: PageRequest): Promise<Page<AlertRule>> {
  return listRows<AlertRule>(db, listing, tenant, request);
}

/** @throws StoreError NOT_FOUND */
export function getAlertRule(db: Db, tenant: number, id: number): Promise<AlertRule> {
  return getRow<AlertRule>(db, listing, tenant, id);
}

/** Every rule of a product, ascending by id. */
export function alertRulesOf(db: Db, productIntID: number): Promise<AlertRule[]> {
  return db.all<AlertRule>(
    `select ${listing.select} from ${listing.from} where r.productIntID = ? order by r.id`,
    [productIntID],
  );
}

export type AlertRuleInput = Pick<
  AlertRule,
  "alertName" | "alertContent" | "alertSeverity" | "dataPointIntID" | "condition" | "duration"
>;

/** @throws StoreError CONFLICT on alertName */
export async function createAlertRule(
  db: Db,
  actor: Actor,
  now: number,
  productIntID: number,
  input: AlertRuleInput,
): Promise<AlertRule> {
  const results = await db.write(insertStatements("alert_rule", actor, now, { productIntID, ...input }));
  return getAlertRule(db, actor.tenant, Number(results[0]?.lastInsertRowid));
}

export async function updateAlertRule(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: Partial<AlertRuleInput>,
): Promise<AlertRule> {
  const edit = differing(await getAlertRule(db, actor.tenant, id), input);
  await db.write(updateStatements("alert_rule", actor, now, id, edit));
  return getAlertRule(db, actor.tenant, id);
}

/** Their current alerts, which nothing could end any more, become history. */
export async function removeAlertRules(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write([
    {
      sql: `update alert set endTime = max(?, startTime) where tenant = ? and endTime is null
        and cause in (select 'rule:' || value from json_each(?))`,
      args: [now, actor.tenant, ids],
    },
    ...deleteStatements("alert_rule", actor, now, ids),
  ]);
}
