import { deviceIDsByProducts, findDeviceID } from "../../store/metadata/commands/log-names.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Filter } from "../../store/metadata/db/table.js";
import { deviceIDsByNames } from "../../store/metadata/devices/names.js";

/** Resolves names to record ids before a log is searched, because its rows carry ids alone. */

/** Ids that name filters may resolve to. */
const namedDevicesMax = 100_000;

const nameColumns: Readonly<Record<string, "deviceID" | "deviceName">> = {
  deviceID: "deviceID",
  deviceName: "deviceName",
  gatewayName: "deviceName",
};

interface LogScope {
  /** Record ids; null for every device of the tenant. */
  readonly devices: readonly number[] | null;
  /** Whether the names match more devices than may be searched for. */
  readonly truncated: boolean;
}

/** The devices that match the name filters, within `parent` where the path names one device. */
export async function readLogScope(
  db: Db,
  tenant: number,
  filters: readonly Filter[],
  parent: number,
): Promise<LogScope> {
  const own = parent === 0 ? null : [parent];
  const named = filters.flatMap(({ field, like, value }) => {
    const column = nameColumns[field];
    return column === undefined ? [] : [{ column, like, value: String(value) }];
  });
  const products = filters.flatMap(({ field, like, value }) =>
    field === "productName" ? [{ like, value: String(value) }] : [],
  );
  const sets = [
    ...(named.length === 0 ? [] : [await deviceIDsByNames(db, tenant, named, parent, namedDevicesMax)]),
    ...(products.length === 0
      ? []
      : [await deviceIDsByProducts(db, tenant, products, parent, namedDevicesMax)]),
    ...(await Promise.all(
      filters
        .filter(({ field }) => field === "deviceIntID")
        .map(({ value }) => findDeviceID(db, tenant, Number(value))),
    )),
  ];
  return {
    devices: sets.reduce<readonly number[] | null>(intersection, own),
    truncated: sets.some((ids) => ids.length > namedDevicesMax),
  };
}

function intersection(left: readonly number[] | null, right: readonly number[]): readonly number[] {
  if (left === null) return right;
  const set = new Set(right);
  return left.filter((id) => set.has(id));
}

/** The filters that are not names and apply to the rows themselves. */
export function rowFilters(filters: readonly Filter[]): Filter[] {
  const names = new Set([...Object.keys(nameColumns), "productName", "deviceIntID"]);
  return filters.filter(({ field }) => !names.has(field));
}
