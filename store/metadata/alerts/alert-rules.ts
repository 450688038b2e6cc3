import { StoreError } from "../../lib/errors.js";
import { changedIfAny } from "../db/changed-if-any.js";
import { type Actor, deleteStatements, differing } from "../db/changes.js";
import type { Db, SqlValue, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
  updateRow,
} from "../db/table.js";

/** Raises an alert of a device while `condition`, a formula over its data points, is true. */
export interface AlertRule {
  readonly id: number;
  readonly tenant: number;
  readonly productIntID: number;
  readonly productID: string;
  readonly alertName: string;
  readonly alertContent: string;
  readonly alertSeverity: number;
  /** The data point that the condition calls `dataPoint`. */
  readonly dataPointIntID: number;
  readonly dataPointName: string;
  readonly condition: string;
  /** Seconds for which the condition must have been true. */
  readonly duration: number;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  bytes: formatBytesSql("r.alertContent"),
  select: "r.*, p.productID, d.dataPointName",
  from: "alert_rule r join product p on p.id = r.productIntID join data_point d on d.id = r.dataPointIntID",
  filters: {
    productID: { column: "p.productID", type: "text" },
    productIntID: integerColumn("productIntID"),
    alertName: textColumn("alertName"),
    alertContent: textColumn("alertContent"),
    alertSeverity: integerColumn("alertSeverity"),
    dataPointIntID: integerColumn("dataPointIntID"),
    dataPointName: { column: "d.dataPointName", type: "text" },
    condition: textColumn("condition"),
    duration: integerColumn("duration"),
    createUser: textColumn("createUser"),
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
export function listProductAlertRules(db: Db, productIntID: number): Promise<AlertRule[]> {
  return db.all<AlertRule>(
    `select ${listing.select} from ${listing.from} where r.productIntID = ? order by r.id`,
    [productIntID],
  );
}

export type AlertRuleInput = Pick<
  AlertRule,
  "alertName" | "alertContent" | "alertSeverity" | "dataPointIntID" | "condition" | "duration"
>;

/** How many rules one data point (their `dataPoint`), one product and one tenant may have. */
const alertRulesMax = { point: 20, product: 100, tenant: 5000 } as const;

/** @throws StoreError CONFLICT on alertName, LIMIT at the most rules allowed */
export async function createAlertRule(
  db: Db,
  actor: Actor,
  now: number,
  productIntID: number,
  input: AlertRuleInput,
): Promise<AlertRule> {
  const { tenant, userIntID, username: createUser } = actor;
  const columns = { tenant, productIntID, ...input, userIntID, createUser, createAt: now };
  const names = Object.keys(columns);
  const room = countFreeRules(tenant, productIntID, input.dataPointIntID);
  const results = await db.write([
    {
      // A taken name is left to the index, which names the fault.
      sql: `insert into alert_rule (${names.join(", ")}) select ${names.map(() => "?").join(", ")}
        where (${room.sql}) or exists (select 1 from alert_rule where productIntID = ? and alertName = ?)`,
      args: [...(Object.values(columns) as SqlValue[]), ...(room.args ?? []), productIntID, input.alertName],
    },
    changedIfAny(actor, now, "create", "alert_rule", null, { productIntID, ...input }),
  ]);
  if (results[0]?.rowsAffected === 0) throw tooManyRules();
  return getAlertRule(db, tenant, Number(results[0]?.lastInsertRowid));
}

const countFreeRules = (tenant: number, productIntID: number, dataPointIntID: number): Statement => ({
  sql: `(select count(*) from alert_rule where dataPointIntID = ?) < ?
    and (select count(*) from alert_rule where productIntID = ?) < ?
    and (select count(*) from alert_rule where tenant = ?) < ?`,
  args: [
    ...[dataPointIntID, alertRulesMax.point, productIntID, alertRulesMax.product],
    ...[tenant, alertRulesMax.tenant],
  ],
});

const tooManyRules = (): StoreError =>
  new StoreError(
    "LIMIT",
    `there may be ${alertRulesMax.point} rules of a data point, ${alertRulesMax.product} of a product and ${alertRulesMax.tenant} in all`,
  );

/**
 * Edits a rule in one step. Returns null, and edits nothing, if the edit changes the rule's condition or data point and
 * either is no longer as in `rule`: they were checked together, and might not fit any more.
 * @throws StoreError NOT_FOUND, CONFLICT on alertName, LIMIT if another data point has the most rules allowed
 */
export async function updateAlertRule(
  db: Db,
  actor: Actor,
  now: number,
  rule: AlertRule,
  input: Partial<AlertRuleInput>,
): Promise<AlertRule | null> {
  const { id } = rule;
  const edit = differing(rule, input);
  const { dataPointIntID, condition } = edit;
  const all: Statement[] = [];
  if (dataPointIntID !== undefined)
    all.push({
      sql: "(select count(*) from alert_rule where dataPointIntID = ?) < ?",
      args: [dataPointIntID, alertRulesMax.point],
    });
  if (dataPointIntID !== undefined || condition !== undefined)
    all.push({ sql: "dataPointIntID = ? and condition = ?", args: [rule.dataPointIntID, rule.condition] });
  const update = updateRow("alert_rule", actor.tenant, id, { ...edit, updateAt: now });
  const [result] = await db.write([
    {
      sql: [update.sql, ...all.map(({ sql }) => sql)].join(" and "),
      args: [...(update.args ?? []), ...all.flatMap(({ args = [] }) => args)],
    },
    changedIfAny(actor, now, "update", "alert_rule", id, edit),
  ]);
  const found = await getAlertRule(db, actor.tenant, id);
  if (result?.rowsAffected !== 0) return found;
  if (found.dataPointIntID === rule.dataPointIntID && found.condition === rule.condition)
    throw tooManyRules();
  return null;
}

/** Their current alerts become history, since nothing could end them any more. */
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
