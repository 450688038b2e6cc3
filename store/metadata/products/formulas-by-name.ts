import type { Db } from "../db/db.js";

/** A stored formula, and data points of its product that it may name. */
interface NamingFormula {
  readonly kind: "metric" | "alert_rule";
  readonly id: number;
  readonly name: string;
  readonly productID: string;
  readonly formula: string;
  readonly dataPointIDs: readonly string[];
}

const notice = "formula names";

/** Whether no start since the upgrade has logged which formulas have another meaning by it. */
export async function isFormulaNoticeDue(db: Db): Promise<boolean> {
  return (await db.first("select 1 from start_notice where name = ?", [notice])) !== undefined;
}

export async function endFormulaNotice(db: Db): Promise<void> {
  await db.write([{ sql: "delete from start_notice where name = ?", args: [notice] }]);
}

const formulas = (kind: NamingFormula["kind"], name: string, formula: string): string => `
  select '${kind}' as kind, r.id as id, r.${name} as name, p.productID, r.${formula} as formula,
    json_group_array(d.dataPointID) as names
  from ${kind} r join product p on p.id = r.productIntID
    join data_point d on d.productIntID = r.productIntID and d.dataPointID in (select value from json_each(?1))
  where r.${formula} is not null group by r.id`;

/** The formulas of all tenants, in metrics and alert rules of products that have data points of these names. */
export async function formulasBesidePoints(db: Db, names: readonly string[]): Promise<NamingFormula[]> {
  const rows = await db.all<Omit<NamingFormula, "dataPointIDs"> & { readonly names: string }>(
    `${formulas("metric", "metricName", "expressions")}
    union all ${formulas("alert_rule", "alertName", "condition")} order by kind, id`,
    [JSON.stringify(names)],
  );
  return rows.map(({ names: found, ...row }) => ({
    ...row,
    dataPointIDs: JSON.parse(found) as readonly string[],
  }));
}
