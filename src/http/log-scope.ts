import type { Db } from "../../store/db.js";
import { deviceIDsByNames } from "../../store/device-names.js";
import { deviceIDOf, deviceIDsByProducts } from "../../store/log-names.js";
import type { Filter } from "../../store/table.js";

/** Names resolve to record ids before a log is looked at: rows carry ids alone. */

/** Ids that name filters may resolve to. */
const namedDevicesMax = 100_000;

const nameColumns: Readonly<Record<string, "deviceID" | "deviceName">> = {
  deviceID: "deviceID",
  deviceName: "deviceName",
  gatewayName: "deviceName",
};

/**
 * Record ids of the devices that the name filters mean, within `parent` where the path names one device; null for
 * every device of the tenant.
 */
export async function scopeOf(
  db: Db,
  tenant: number,
  filters: readonly Filter[],
  parent: number,
): Promise<readonly number[] | null> {
  const own = parent === 0 ? null : [parent];
  const named = filters.flatMap(({ field, like, value }) => {
    const column = nameColumns[field];
    return column === undefined ? [] : [{ column, like, value: String(value) }];
  });
  const products = filters.flatMap(({ field, like, value }) =>
    field === "productName" ? [{ like, value: String(value) }] : [],
  );
  const sets = [
    ...(named.length === 0 ? [] : [await deviceIDsByNames(db, tenant, named, namedDevicesMax)]),
    ...(products.length === 0 ? [] : [await deviceIDsByProducts(db, tenant, products, namedDevicesMax)]),
    ...(await Promise.all(
      filters
        .filter(({ field }) => field === "deviceIntID")
        .map(({ value }) => deviceIDOf(db, tenant, Number(value))),
    )),
  ];
  return sets.reduce<readonly number[] | null>(intersection, own);
}

function intersection(left: readonly number[] | null, right: readonly number[]): readonly number[] {
  if (left === null) return right;
  const set = new Set(right);
  return left.filter((id) => set.has(id));
}

/** The filters that are no names: they look at the rows themselves. */
export function rowFilters(filters: readonly Filter[]): Filter[] {
  const names = new Set([...Object.keys(nameColumns), "productName", "deviceIntID"]);
  return filters.filter(({ field }) => !names.has(field));
}
