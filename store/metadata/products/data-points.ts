import { mapInSlices } from "../../lib/scheduling.js";
import type { Kind } from "../../series/series.js";
import { type Actor, changed, deleteStatements, differing, updateStatements } from "../db/changes.js";
import type { Db, SqlValue, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import { deleting } from "../db/referrers.js";
import {
  fromJson,
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  real,
  stamps,
  textColumn,
  toCondition,
} from "../db/table.js";

export interface DataPoint {
  readonly id: number;
  readonly tenant: number;
  readonly productIntID: number;
  readonly productID: string;
  readonly productName: string;
  readonly dataPointID: string;
  readonly dataPointName: string;
  /** The series field: dataPointID, or `dataPointID~n` once the name has been used before. */
  readonly field: string;
  readonly pointDataType: number;
  readonly dataTransType: number;
  readonly unitName: string | null;
  readonly unitSymbol: string | null;
  readonly upperLimit: number | null;
  readonly lowerLimit: number | null;
  readonly dataStep: number | null;
  readonly binarySize: number | null;
  readonly faultValue: string | null;
  readonly isDiscard: number | null;
  readonly enum: readonly { value: unknown; label: unknown }[] | null;
  readonly isLocationType: number;
  readonly locationType: number | null;
  readonly registerAddr: string | null;
  readonly detail: string | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

/** The stored kind depends only on the data point's type (pointDataType of the interface), never on a value. */
export function toSeriesKind(pointDataType: number): Kind {
  if (pointDataType === 5 || pointDataType === 23) return "boolean";
  return textTypes.has(pointDataType) ? "text" : "number";
}

const textTypes = new Set([3, 4, 6, 11, 12, 13, 14]);

const listing: Listing = {
  bytes: formatBytesSql("r.faultValue", 'r."enum"', "r.detail"),
  select: "r.*, p.productID, p.productName",
  from: "data_point r join product p on p.id = r.productIntID",
  filters: {
    productID: { column: "p.productID", type: "text" },
    productName: { column: "p.productName", type: "text" },
    productIntID: integerColumn("productIntID"),
    dataPointID: textColumn("dataPointID"),
    dataPointName: textColumn("dataPointName"),
    pointDataType: integerColumn("pointDataType"),
    dataTransType: integerColumn("dataTransType"),
    unitName: textColumn("unitName"),
    unitSymbol: textColumn("unitSymbol"),
    upperLimit: real("upperLimit"),
    lowerLimit: real("lowerLimit"),
    dataStep: real("dataStep"),
    binarySize: integerColumn("binarySize"),
    faultValue: textColumn("faultValue"),
    isDiscard: integerColumn("isDiscard"),
    isLocationType: integerColumn("isLocationType"),
    locationType: integerColumn("locationType"),
    registerAddr: textColumn("registerAddr"),
    detail: textColumn("detail"),
    ...stamps,
  },
};

export const dataPointFilters = listing.filters;
export const dataPointIDs = { name: "data_point", column: null } as const;

type DataPointRow = Omit<DataPoint, "enum"> & { enum: string | null };

function toDataPoint(row: DataPointRow): DataPoint {
  return { ...row, enum: fromJson(row.enum) };
}

export async function listDataPoints(db: Db, tenant: number, request: PageRequest): Promise<Page<DataPoint>> {
  const page = await listRows<DataPointRow>(db, listing, tenant, request);
  return { ...page, items: await mapInSlices(page.items, toDataPoint) };
}

/** @throws StoreError NOT_FOUND */
export async function getDataPoint(db: Db, tenant: number, id: number): Promise<DataPoint> {
  return toDataPoint(await getRow<DataPointRow>(db, listing, tenant, id));
}

/** Every data point of a product, ascending by id. */
export async function listProductDataPoints(db: Db, productIntID: number): Promise<DataPoint[]> {
  const rows = await db.all<DataPointRow>(
    `select ${listing.select} from ${listing.from} where r.productIntID = ? order by r.id`,
    [productIntID],
  );
  return rows.map(toDataPoint);
}

/** The data points of a stream, in its order. */
export async function dataPointsOfStream(
  db: Db,
  tenant: number,
  { page, limit, filters }: PageRequest,
  stream: number,
): Promise<Page<DataPoint>> {
  const scope = { sql: "m.dataStreamIntID = ?", args: [stream] };
  const { sql, args } = toCondition(listing, tenant, filters, scope);
  const from = `${listing.from} join stream_point m on m.dataPointIntID = r.id where ${sql}`;
  const rows = await db.all<DataPointRow>(
    `select ${listing.select} from ${from} order by m.ordinal limit ? offset ?`,
    [...args, limit, (page - 1) * limit],
  );
  const counted = await db.first<{ n: number }>(`select count(*) n from ${from}`, args);
  return { items: rows.map(toDataPoint), count: counted?.n ?? 0 };
}

export type DataPointInput = Partial<
  Pick<
    DataPoint,
    | "dataPointName"
    | "pointDataType"
    | "dataTransType"
    | "unitName"
    | "unitSymbol"
    | "upperLimit"
    | "lowerLimit"
    | "dataStep"
    | "binarySize"
    | "faultValue"
    | "isDiscard"
    | "enum"
    | "isLocationType"
    | "locationType"
    | "registerAddr"
    | "detail"
  >
>;

function toColumns(input: DataPointInput): Record<string, SqlValue> {
  const columns = { ...input } as Record<string, SqlValue>;
  if (input.enum !== undefined) columns.enum = input.enum === null ? null : JSON.stringify(input.enum);
  return columns;
}

/** @throws StoreError CONFLICT if the product already has the dataPointID */
export async function createDataPoint(
  db: Db,
  actor: Actor,
  now: number,
  productIntID: number,
  dataPointID: string,
  input: DataPointInput,
): Promise<DataPoint> {
  const columns: Record<string, SqlValue> = {
    tenant: actor.tenant,
    productIntID,
    dataPointID,
    ...toColumns(input),
    createUser: actor.username,
    createAt: now,
  };
  const names = Object.keys(columns).map((name) => (name === "enum" ? `"enum"` : name));
  const results = await db.write([
    {
      sql: `insert into field_generation (productIntID, dataPointID, generation) values (?, ?, 1)
        on conflict do update set generation = generation + 1`,
      args: [productIntID, dataPointID],
    },
    { sql: "insert into point_sequence default values" },
    {
      sql: `insert into data_point (id, field, ${names.join(", ")})
        select last_insert_rowid(), case generation when 1 then dataPointID else dataPointID || '~' || generation end,
          ${names.map(() => "?").join(", ")}
        from field_generation where productIntID = ? and dataPointID = ?`,
      args: [...Object.values(columns), productIntID, dataPointID],
    },
    changed(actor, now, "create", "data_point", null, { productIntID, dataPointID, ...input }),
  ]);
  return getDataPoint(db, actor.tenant, Number(results[2]?.lastInsertRowid));
}

export async function updateDataPoint(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: DataPointInput,
): Promise<DataPoint> {
  const edit = differing(await getDataPoint(db, actor.tenant, id), input);
  await db.write(updateStatements("data_point", actor, now, id, toColumns(edit), edit));
  return getDataPoint(db, actor.tenant, id);
}

/**
 * Removes the rows, and the given streams with them; the background removes their points.
 * @throws StoreError REFERENCED; then nothing is removed
 */
export async function removeDataPoints(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
  streams: readonly number[] = [],
): Promise<void> {
  const statements: Statement[] = [
    // A stream that is removed too no longer counts as referring to its points.
    ...deleteStatements("data_stream", actor, now, streams),
    {
      sql: `insert into removal (tenant, productID, field, createAt)
        select r.tenant, p.productID, r.field, ? from data_point r join product p on p.id = r.productIntID
        where r.tenant = ? and r.id in (select value from json_each(?))`,
      args: [now, actor.tenant, ids],
    },
    ...deleteStatements("data_point", actor, now, ids),
  ];
  await deleting(db, { data_point: ids, data_stream: streams }, () => db.write(statements));
}
