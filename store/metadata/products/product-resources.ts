import { type Actor, deleteStatements, insertStatements } from "../db/changes.js";
import type { Db } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import {
  getRow,
  integerColumn,
  type Listing,
  never,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
} from "../db/table.js";

/** Ties a code of a device's own record, such as its serial number, to the data point that reports it. */
export interface ProductResource {
  readonly id: number;
  readonly tenant: number;
  readonly productIntID: number;
  readonly codeValue: string;
  readonly dataPointIntID: number;
  readonly dataPointName: string;
  readonly productItemIntID: number | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const listing: Listing = {
  select: "r.*, d.dataPointName",
  from: `product_resource r join product p on p.id = r.productIntID
    join data_point d on d.id = r.dataPointIntID`,
  filters: {
    productID: { column: "p.productID", type: "text" },
    productIntID: integerColumn("productIntID"),
    codeValue: textColumn("codeValue"),
    dataPointIntID: integerColumn("dataPointIntID"),
    dataPointName: { column: "d.dataPointName", type: "text" },
    productItemIntID: integerColumn("productItemIntID"),
    itemName: never("text"),
    ...stamps,
  },
};

export const productResourceFilters = listing.filters;
export const productResourceIDs = { name: "product_resource", column: null } as const;

export function listProductResources(
  db: Db,
  tenant: number,
  request: PageRequest,
): Promise<Page<ProductResource>> {
  return listRows<ProductResource>(db, listing, tenant, request);
}

/** The resources of a product, with the data points that they copy from. */
export function findResources(
  db: Db,
  productIntID: number,
): Promise<Pick<ProductResource, "id" | "codeValue" | "dataPointIntID">[]> {
  return db.all(
    "select id, codeValue, dataPointIntID from product_resource where productIntID = ? order by id",
    [productIntID],
  );
}

type ProductResourceInput = Pick<
  ProductResource,
  "productIntID" | "codeValue" | "dataPointIntID" | "productItemIntID"
>;

export async function createProductResource(
  db: Db,
  actor: Actor,
  now: number,
  input: ProductResourceInput,
): Promise<ProductResource> {
  const results = await db.write(insertStatements("product_resource", actor, now, input));
  return getRow<ProductResource>(db, listing, actor.tenant, Number(results[0]?.lastInsertRowid));
}

export async function removeProductResources(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("product_resource", actor, now, ids));
}
