import {
  type Actor,
  deleteStatements,
  differing,
  insertStatements,
  updateStatements,
} from "../db/changes.js";
import type { Db } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import { getRow, integerColumn, type Listing, type Page, type PageRequest, textColumn } from "../db/table.js";

export interface Metric {
  readonly id: number;
  readonly tenant: number;
  readonly productIntID: number;
  readonly productID: string;
  readonly metricName: string;
  readonly metricType: number;
  readonly dataPointIntID: number;
  readonly dataPointName: string;
  readonly aggregateType: number | null;
  readonly aggregateData: number | null;
  readonly chartType: number;
  readonly expressions: string | null;
  readonly isShow: number;
  readonly productItemIntID: number | null;
  readonly remark: string | null;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  bytes: formatBytesSql("r.remark"),
  select: "r.*, p.productID, d.dataPointName",
  from: "metric r join product p on p.id = r.productIntID join data_point d on d.id = r.dataPointIntID",
  filters: {
    productID: { column: "p.productID", type: "text" },
    metricName: textColumn("metricName"),
    metricType: integerColumn("metricType"),
    dataPointIntID: integerColumn("dataPointIntID"),
    dataPointName: { column: "d.dataPointName", type: "text" },
    aggregateType: integerColumn("aggregateType"),
    aggregateData: integerColumn("aggregateData"),
    chartType: integerColumn("chartType"),
    expressions: textColumn("expressions"),
    isShow: integerColumn("isShow"),
    remark: textColumn("remark"),
  },
};

export const metricFilters = listing.filters;
export const metricIDs = { name: "metric", column: null } as const;

export function listMetrics(db: Db, tenant: number, request: PageRequest): Promise<Page<Metric>> {
  return listRows<Metric>(db, listing, tenant, request);
}

/** Those of the ids that belong to metrics of the tenant. */
export async function existingMetrics(db: Db, tenant: number, ids: readonly number[]): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    "select id from metric where tenant = ? and id in (select value from json_each(?))",
    [tenant, ids],
  );
  return rows.map(({ id }) => id);
}

/** @throws StoreError NOT_FOUND */
export function getMetric(db: Db, tenant: number, id: number): Promise<Metric> {
  return getRow<Metric>(db, listing, tenant, id);
}

/** Every metric of a product, ascending by id. */
export function listProductMetrics(db: Db, productIntID: number): Promise<Metric[]> {
  return db.all<Metric>(
    `select ${listing.select} from ${listing.from} where r.productIntID = ? order by r.id`,
    [productIntID],
  );
}

export type MetricInput = Partial<
  Pick<
    Metric,
    | "metricName"
    | "metricType"
    | "dataPointIntID"
    | "aggregateType"
    | "aggregateData"
    | "chartType"
    | "expressions"
    | "isShow"
    | "productItemIntID"
    | "remark"
  >
>;

/** @throws StoreError CONFLICT on metricName */
export async function createMetric(
  db: Db,
  actor: Actor,
  now: number,
  productIntID: number,
  input: MetricInput,
): Promise<Metric> {
  const results = await db.write(insertStatements("metric", actor, now, { productIntID, ...input }));
  return getMetric(db, actor.tenant, Number(results[0]?.lastInsertRowid));
}

export async function updateMetric(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: MetricInput,
): Promise<Metric> {
  const edit = differing(await getMetric(db, actor.tenant, id), input);
  await db.write(updateStatements("metric", actor, now, id, edit));
  return getMetric(db, actor.tenant, id);
}

export async function removeMetrics(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("metric", actor, now, ids));
}
