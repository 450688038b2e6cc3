import {
  type Actor,
  deleteStatements,
  differing,
  insertStatements,
  updateStatements,
} from "../db/changes.js";
import type { Db } from "../db/db.js";
import { shortID } from "../db/ids.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import { deleting } from "../db/referrers.js";
import { getRow, type Listing, type Page, type PageRequest, stamps } from "../db/table.js";

export interface Product {
  readonly id: number;
  readonly tenant: number;
  readonly productID: string;
  readonly productName: string;
  readonly description: string | null;
  readonly cloudProtocol: number;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly createAt: number;
  readonly updateAt: number | null;
  readonly deviceCount: number;
  readonly gatewayCount: number;
  readonly appCount: number;
  readonly dataPointCount: number;
  readonly dataStreamCount: number;
}

/** Products of this protocol have items in place of data points and streams. */
const lwm2m = 3;
const formatCountSql = (table: string) => `(select count(*) from ${table} c where c.productIntID = r.id)`;
/** Devices of the kinds that the condition `further` allows. */
const formatDeviceCountSql = (further = "") =>
  `(select coalesce(sum(c.n), 0) from product_device_count c where c.productIntID = r.id ${further})`;
const unlessItems = (column: string) => `case r.cloudProtocol when ${lwm2m} then null else ${column} end`;

const listing: Listing = {
  bytes: formatBytesSql("r.description"),
  select: `r.*,
    ${formatDeviceCountSql("and c.kind = 'device'")} deviceCount,
    ${formatDeviceCountSql("and c.kind = 'gateway'")} gatewayCount,
    ${formatCountSql("app_template")} appCount,
    ${formatCountSql("data_point")} dataPointCount,
    ${formatCountSql("data_stream")} dataStreamCount`,
  from: "product r",
  filters: {
    productName: { column: "r.productName", type: "text" },
    productID: { column: "r.productID", type: "text" },
    description: { column: "r.description", type: "text" },
    cloudProtocol: { column: "r.cloudProtocol", type: "integer" },
    userIntID: { column: "r.userIntID", type: "integer" },
    deviceCount: { column: formatDeviceCountSql("and c.kind = 'device'"), type: "integer" },
    appCount: { column: formatCountSql("app_template"), type: "integer" },
    dataPointCount: { column: unlessItems(formatCountSql("data_point")), type: "integer" },
    dataStreamCount: { column: unlessItems(formatCountSql("data_stream")), type: "integer" },
    itemCount: { column: `case r.cloudProtocol when ${lwm2m} then 0 end`, type: "integer" },
    ...stamps,
  },
};
/** Devices and gateways are counted together. */
const everyKind: Listing = {
  ...listing,
  filters: { ...listing.filters, deviceCount: { column: formatDeviceCountSql(), type: "integer" } },
};

export const productFilters = listing.filters;
export const productIDs = { name: "product", column: "productID" } as const;

/** `withGateways`: the filter deviceCount counts gateways too. */
export function listProducts(
  db: Db,
  tenant: number,
  request: PageRequest,
  withGateways: boolean,
): Promise<Page<Product>> {
  return listRows<Product>(db, withGateways ? everyKind : listing, tenant, request);
}

/** @throws StoreError NOT_FOUND */
export function getProduct(db: Db, tenant: number, id: number): Promise<Product> {
  return getRow<Product>(db, listing, tenant, id);
}

/** Ids that the `devices` of a product or group may hold. */
export const devicesShownMax = 1000;

/**
 * The newest devices and gateways of each product, by product; up to `devicesShownMax` + 1, to show whether there are
 * more.
 */
export async function devicesOfProducts(
  db: Db,
  products: readonly number[],
): Promise<ReadonlyMap<number, number[]>> {
  const rows = await db.all<{ product: number; id: number }>(
    `select p.value product, d.id from json_each(?) p join device d on d.id in
       (select id from device where productIntID = p.value order by id desc limit ?)
     order by d.id desc`,
    [products, devicesShownMax + 1],
  );
  const found = new Map<number, number[]>(products.map((id) => [id, []]));
  for (const row of rows) found.get(row.product)?.push(row.id);
  return found;
}

/** A product as other records need it, without the counts, which require a look at every device. */
export type ProductRef = Pick<Product, "id" | "productID" | "cloudProtocol">;

const refColumns = "select id, productID, cloudProtocol from product where tenant = ?";

export function findProduct(db: Db, tenant: number, productID: string): Promise<ProductRef | undefined> {
  return db.first<ProductRef>(`${refColumns} and productID = ?`, [tenant, productID]);
}

export function findProductByIntID(db: Db, tenant: number, id: number): Promise<ProductRef | undefined> {
  return db.first<ProductRef>(`${refColumns} and id = ?`, [tenant, id]);
}

type ProductInput = Pick<Product, "productName" | "description" | "cloudProtocol">;

/** @throws StoreError CONFLICT when the name is taken */
export async function createProduct(
  db: Db,
  actor: Actor,
  now: number,
  input: ProductInput,
): Promise<Product> {
  const results = await db.write(
    insertStatements("product", actor, now, { productID: shortID(), ...input }, input),
  );
  return getProduct(db, actor.tenant, Number(results[0]?.lastInsertRowid));
}

export async function updateProduct(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: Partial<Pick<Product, "productName" | "description">>,
): Promise<Product> {
  const edit = differing(await getProduct(db, actor.tenant, id), input);
  await db.write(updateStatements("product", actor, now, id, edit));
  return getProduct(db, actor.tenant, id);
}

/** A product's own records are removed with it. @throws StoreError REFERENCED if devices, gateways or groups use one */
export async function removeProducts(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  const owned = (table: string) => ({
    sql: `delete from ${table} where tenant = ? and productIntID in (select value from json_each(?))`,
    args: [actor.tenant, ids],
  });
  const statements = [
    {
      sql: `update departed_device set productName = (select productName from product where id = productIntID)
        where tenant = ? and productIntID in (select value from json_each(?))`,
      args: [actor.tenant, ids],
    },
    owned("product_resource"),
    owned("alert_rule"),
    owned("app_template"),
    owned("metric"),
    owned("data_stream"),
    owned("data_point"),
    ...deleteStatements("product", actor, now, ids),
  ];
  await deleting(db, { product: ids }, () => db.write(statements));
}
