import type { DeviceKey, FieldKey, Kind, SeriesRef } from "../series.js";

export type SeriesKey = Pick<SeriesRef, "tenant" | "productID" | "deviceID" | "field" | "kind">;

/** The device or the field whose series a removal deletes. */
export type RemovedScope = DeviceKey | FieldKey;

/** NUL and half surrogate pairs: SQLite cuts or refuses such text. */
const unstorable = /[\0\p{Surrogate}]/u;

/**
 * A series' name as one string, of which the writer keeps hundreds of thousands; undefined when a file could not hold
 * the name.
 */
export function formatSeriesName({
  tenant,
  productID,
  deviceID,
  field,
  kind,
}: SeriesRef): string | undefined {
  if ([productID, deviceID, field].some((part) => unstorable.test(part))) return undefined;
  return `${tenant}\0${productID}\0${deviceID}\0${field}\0${kind}`;
}

export function parseSeriesName(name: string): SeriesKey {
  const [tenant, productID = "", deviceID = "", field = "", kind] = name.split("\0");
  return { tenant: Number(tenant), productID, deviceID, field, kind: kind as Kind };
}

/** The common beginning of the names of a device's series. */
export function nameOfDevice({ tenant, productID, deviceID }: DeviceKey): string {
  return `${tenant}\0${productID}\0${deviceID}\0`;
}

/** `nameOfDevice` of the device whose series has the name. */
export function parseDeviceName(name: string): string {
  let end = 0;
  for (let part = 0; part < 3; part++) end = name.indexOf("\0", end) + 1;
  return name.slice(0, end);
}

/** Whether a file could hold these names. */
export function isStorable(scope: RemovedScope): boolean {
  return (
    !unstorable.test(scope.productID) && !unstorable.test("field" in scope ? scope.field : scope.deviceID)
  );
}
