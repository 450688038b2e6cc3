import type { Condition, Db } from "../db/db.js";
import type { Filter, Listing, Page, PageRequest } from "../db/table.js";
import type { Binding } from "../policies/bindings.js";

/**
 * The devices and gateways that a policy or certificate is bound to, and those that it is not bound to; newest first.
 */

export interface BindableDevice {
  readonly id: number;
  readonly kind: "device" | "gateway";
  readonly deviceID: string;
  readonly deviceName: string;
  readonly deviceType: number | null;
  readonly productName: string;
}

export const boundFilters: Listing["filters"] = {
  deviceName: { column: "r.deviceName", type: "text" },
  deviceID: { column: "r.deviceID", type: "text" },
};

/** Filters also by the name of the product, or of a group that the device is in. */
export const bindableFilters: Listing["filters"] = {
  ...boundFilters,
  productName: { column: "p.productName", type: "text" },
  groupName: { column: "g.groupName", type: "text" },
};

/**
 * Conditions that filters put on a device `r`. Names of products and groups are looked up once, not for each device.
 */
const conditions: Readonly<Record<string, (filter: Filter) => string>> = {
  id: () => "r.id = ?",
  deviceName: (filter) => named("r.deviceName", filter),
  deviceID: (filter) => named("r.deviceID", filter),
  productName: (filter) =>
    `r.productIntID in (select id from product where tenant = ? and ${named("productName", filter)})`,
  groupName: (filter) =>
    `r.id in (select m.deviceIntID from device_group g join group_member m on m.groupIntID = g.id
       where g.tenant = ? and ${named("g.groupName", filter)})`,
};

function named(column: string, { like }: Filter): string {
  return like ? `instr(lower(${column}), lower(?)) > 0` : `${column} = ?`;
}

const ofTenant = new Set(["productName", "groupName"]);

/** The conditions of all filters on a device `r`, each after an `and`. */
export function filtered(tenant: number, filters: readonly Filter[]): Condition {
  return {
    sql: filters.map((filter) => ` and ${conditions[filter.field]?.(filter) ?? "1"}`).join(""),
    args: filters.flatMap(({ field, value }) => (ofTenant.has(field) ? [tenant, value] : [value])),
  };
}

/** Which devices, as `select … id`, and how many; neither examines a device unless a filter asks for it. */
interface Choice {
  readonly ids: Condition;
  /** An expression; if null, the ids are counted. */
  readonly count: Condition | null;
}

/** Takes `boundFilters`. */
export function boundDevices(
  db: Db,
  { table, owner }: Binding,
  tenant: number,
  request: PageRequest,
  id: number,
): Promise<Page<BindableDevice>> {
  if (request.filters.length === 0) {
    return readPage(db, request, {
      ids: { sql: `select deviceIntID id from ${table} where ${owner} = ?`, args: [id] },
      count: { sql: `(select count(*) from ${table} where ${owner} = ?)`, args: [id] },
    });
  }
  const { sql, args } = filtered(tenant, request.filters);
  const bound = `select r.id from ${table} b cross join device r on r.id = b.deviceIntID
    where b.${owner} = ?${sql}`;
  return readPage(db, request, { ids: { sql: bound, args: [id, ...args] }, count: null });
}

/** Takes `bindableFilters`. */
export function bindableDevices(
  db: Db,
  { table, owner }: Binding,
  tenant: number,
  request: PageRequest,
  id: number,
): Promise<Page<BindableDevice>> {
  const { sql, args } = filtered(tenant, request.filters);
  const free = `select r.id from device r where r.tenant = ?${sql} and not exists
    (select 1 from ${table} b where b.${owner} = ? and b.deviceIntID = r.id)`;
  // Everything that it is bound to belongs to its tenant.
  const difference = `(select count(*) from device where tenant = ?)
    - (select count(*) from ${table} where ${owner} = ?)`;
  return readPage(db, request, {
    ids: { sql: free, args: [tenant, ...args, id] },
    count: request.filters.length === 0 ? { sql: difference, args: [tenant, id] } : null,
  });
}

async function readPage(
  db: Db,
  { page, limit }: PageRequest,
  { ids, count }: Choice,
): Promise<Page<BindableDevice>> {
  // With filters the devices are examined once, for the count and the page together.
  const found = `with found as ${count === null ? "materialized" : "not materialized"} (${ids.sql})`;
  const row = await db.first<{ n: number; ids: string }>(
    `${found} select ${count?.sql ?? "(select count(*) from found)"} n,
       (select json_group_array(id) from (select id from found order by id desc limit ? offset ?)) ids`,
    [...ids.args, ...(count?.args ?? []), limit, (page - 1) * limit],
  );
  const items = await db.all<BindableDevice>(
    `select r.id, r.kind, r.deviceID, r.deviceName, r.deviceType, p.productName
     from json_each(?) i cross join device r on r.id = i.value join product p on p.id = r.productIntID
     order by r.id desc`,
    [JSON.parse(row?.ids ?? "[]") as number[]],
  );
  return { items, count: row?.n ?? 0 };
}
