import { mapInSlices } from "../../lib/scheduling.js";
import { type Actor, changed, deleteStatements, differing, updateStatements } from "../db/changes.js";
import type { Db, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import { deleting } from "../db/referrers.js";
import {
  fromJson,
  getRow,
  insertInto,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  textColumn,
} from "../db/table.js";

export interface DataStream {
  readonly id: number;
  readonly tenant: number;
  readonly productIntID: number;
  readonly productID: string;
  readonly productName: string;
  readonly streamName: string;
  readonly streamType: number;
  readonly streamDataType: number;
  readonly topic: string;
  /** Record ids; the order is the field order of a binary stream. */
  readonly dataPoints: readonly number[];
  readonly dataPointNames: readonly string[];
  readonly detail: string | null;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const members = `from stream_point s join data_point d on d.id = s.dataPointIntID
  where s.dataStreamIntID = r.id order by s.ordinal`;

const listing: Listing = {
  bytes: `${formatBytesSql("r.detail")} + (select coalesce(sum(octet_length(d.dataPointName)), 0) ${members})`,
  select: `r.*, p.productID, p.productName,
    (select json_group_array(id) from (select d.id ${members})) dataPoints,
    (select json_group_array(name) from (select d.dataPointName name ${members})) dataPointNames`,
  from: "data_stream r join product p on p.id = r.productIntID",
  filters: {
    productID: { column: "p.productID", type: "text" },
    productName: { column: "p.productName", type: "text" },
    productIntID: integerColumn("productIntID"),
    streamName: textColumn("streamName"),
    streamType: integerColumn("streamType"),
    streamDataType: integerColumn("streamDataType"),
    topic: textColumn("topic"),
    detail: textColumn("detail"),
  },
};

export const dataStreamFilters = listing.filters;
export const dataStreamIDs = { name: "data_stream", column: null } as const;

type DataStreamRow = Omit<DataStream, "dataPoints" | "dataPointNames"> & {
  dataPoints: string;
  dataPointNames: string;
};

function toDataStream(row: DataStreamRow): DataStream {
  return {
    ...row,
    dataPoints: fromJson<number[]>(row.dataPoints) ?? [],
    dataPointNames: fromJson<string[]>(row.dataPointNames) ?? [],
  };
}

export async function listDataStreams(
  db: Db,
  tenant: number,
  request: PageRequest,
): Promise<Page<DataStream>> {
  const page = await listRows<DataStreamRow>(db, listing, tenant, request);
  return { ...page, items: await mapInSlices(page.items, toDataStream) };
}

/** @throws StoreError NOT_FOUND */
export async function getDataStream(db: Db, tenant: number, id: number): Promise<DataStream> {
  return toDataStream(await getRow<DataStreamRow>(db, listing, tenant, id));
}

export async function listProductDataStreams(db: Db, productIntID: number): Promise<DataStream[]> {
  const rows = await db.all<DataStreamRow>(
    `select ${listing.select} from ${listing.from} where r.productIntID = ? order by r.id`,
    [productIntID],
  );
  return rows.map(toDataStream);
}

export type DataStreamInput = Pick<
  DataStream,
  "streamName" | "streamType" | "streamDataType" | "topic" | "dataPoints" | "detail"
>;

/** The members in their order; `stream` is SQL for the stream's id. */
function memberStatements(stream: number | "last", dataPoints: readonly number[]): Statement[] {
  return dataPoints.map((id, ordinal) => ({
    sql: `insert into stream_point (dataStreamIntID, ordinal, dataPointIntID)
      values (${stream === "last" ? "(select max(id) from point_sequence)" : stream}, ?, ?)`,
    args: [ordinal, id],
  }));
}

/** @throws StoreError CONFLICT on streamName or topic */
export async function createDataStream(
  db: Db,
  actor: Actor,
  now: number,
  productIntID: number,
  input: DataStreamInput,
): Promise<DataStream> {
  const { dataPoints, ...columns } = input;
  const row = insertInto("data_stream", {
    tenant: actor.tenant,
    productIntID,
    ...columns,
    userIntID: actor.userIntID,
    createUser: actor.username,
    createAt: now,
  });
  const results = await db.write([
    { sql: "insert into point_sequence default values" },
    {
      sql: row.sql.replace("(", "(id, ").replace("values (", "values (last_insert_rowid(), "),
      args: row.args ?? [],
    },
    changed(actor, now, "create", "data_stream", null, { productIntID, ...input }),
    ...memberStatements("last", dataPoints),
  ]);
  return getDataStream(db, actor.tenant, Number(results[1]?.lastInsertRowid));
}

export async function updateDataStream(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: Partial<DataStreamInput>,
): Promise<DataStream> {
  const edit = differing(await getDataStream(db, actor.tenant, id), input);
  const { dataPoints, ...columns } = edit;
  const members =
    dataPoints === undefined
      ? []
      : [
          { sql: "delete from stream_point where dataStreamIntID = ?", args: [id] },
          ...memberStatements(id, dataPoints),
        ];
  await db.write([...updateStatements("data_stream", actor, now, id, columns, edit), ...members]);
  return getDataStream(db, actor.tenant, id);
}

export async function removeDataStreams(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  const statements = deleteStatements("data_stream", actor, now, ids);
  await deleting(db, { data_stream: ids }, () => db.write(statements));
}
