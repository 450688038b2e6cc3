import type { Kind, SeriesRef } from "../series.js";

export interface SeriesKey {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string;
  readonly field: string;
  readonly kind: Kind;
}

export interface RemovedScope {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID?: string | undefined;
  readonly field?: string | undefined;
}

/** NUL and half surrogate pairs: SQLite cuts or refuses such text. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/**
 * A series as one string, the form in which the writer keeps hundreds of thousands of them; undefined when no
 * file could hold the name.
 */
export function nameOf({ tenant, productID, deviceID, field, kind }: SeriesRef): string | undefined {
  if ([productID, deviceID, field].some((part) => UNSTORABLE.test(part))) return undefined;
  return `${tenant}\0${productID}\0${deviceID}\0${field}\0${kind}`;
}

export function keyOf(name: string): SeriesKey {
  const [tenant, productID = "", deviceID = "", field = "", kind] = name.split("\0");
  return { tenant: Number(tenant), productID, deviceID, field, kind: kind as Kind };
}

/** Tells whether a removal takes the series of a name. */
export function matcherOf({ tenant, productID, deviceID, field }: RemovedScope): (name: string) => boolean {
  const prefix = `${tenant}\0${productID}\0${deviceID === undefined ? "" : `${deviceID}\0`}`;
  return (name) => name.startsWith(prefix) && (field === undefined || keyOf(name).field === field);
}
