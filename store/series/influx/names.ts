/** How products, devices and fields are named in InfluxDB, and written in its line protocol. */

import type { SeriesRef } from "../series.js";

/**
 * A name as InfluxDB stores it. Line protocol cannot write a backslash before a separator, so names with a backslash,
 * or with the percent sign that then marks one, are stored percent-encoded.
 */
export function influxName(name: string): string {
  return /[%\\\n\r]/.test(name) ? name.replace(/[%\\\n\r]/g, encodeURIComponent) : name;
}

/** What the lines of a series say of it, escaped. */
interface LineKey {
  /** Measurement and tag, up to the fields. */
  readonly head: Buffer;
  /** The field's key, up to its value. */
  readonly field: Buffer;
}

/** References are interned, and so are their keys. */
const keys = new WeakMap<SeriesRef, LineKey>();

export function toLineKey(series: SeriesRef): LineKey {
  const known = keys.get(series);
  if (known) return known;
  const measurement = influxName(series.productID).replace(/[, ]/g, "\\$&");
  const key = {
    head: Buffer.from(`${measurement},device=${escapeKey(series.deviceID)} `),
    field: Buffer.from(`${escapeKey(series.field)}=`),
  };
  keys.set(series, key);
  return key;
}

function escapeKey(name: string): string {
  return influxName(name).replace(/[,= ]/g, "\\$&");
}
