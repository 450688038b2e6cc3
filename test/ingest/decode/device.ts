/** A device with one data point of each type, as the decoder sees it. */

import type { PointEntry, PointSeries, StreamEntry } from "../../../ingest/decode/product-model.js";
import { converters, takesNumbers } from "../../../ingest/decode/values.js";
import type { DeviceEntry, ProductEntry } from "../../../ingest/directory/entries.js";
import { toSeriesKind } from "../../../store/metadata/products/data-points.js";

/** dataPointID → pointDataType */
const pointTypes = {
  temp: 1,
  label: 3,
  fault: 4,
  on: 5,
  place: 6,
  blob: 14,
  whole: 15,
  bits: 19,
  at: 24,
} as const;

export function pointEntry(id: number, dataPointID: string, type: number, reportable = true): PointEntry {
  const convert = converters.get(type);
  if (convert === undefined) throw new Error(`no converter for type ${type}`);
  return {
    id,
    dataPointID,
    createdAt: 0,
    reportable,
    convert,
    field: dataPointID,
    kind: toSeriesKind(type),
    pointDataType: type,
    binarySize: null,
    discards: null,
    step: null,
    units: null,
    takesNumbers: takesNumbers(type),
  };
}

export function testDevice(streams: ReadonlyMap<string, StreamEntry> = new Map()): DeviceEntry {
  const points = new Map(
    Object.entries(pointTypes).map(([name, type], i) => [name, pointEntry(i + 1, name, type)] as const),
  );
  points.set("issued", pointEntry(99, "issued", 1, false));
  const product: ProductEntry = { id: 1, members: new Set(), points, streams, subscriptions: [] };
  const series = new Map<number, PointSeries>();
  return {
    id: 1,
    device: {} as DeviceEntry["device"],
    product,
    certificates: new Map(),
    rules: [],
    access: null,
    subscriptions: [],
    series: (point) => {
      const known = series.get(point.id);
      if (known !== undefined) return known;
      const { field, kind } = point;
      const names = { tenant: 1, productID: "product", deviceID: "device" };
      const made: PointSeries = {
        ...names,
        field,
        kind,
        dataPointIntID: point.id,
        isLocation: point.pointDataType === 6,
      };
      series.set(point.id, made);
      return made;
    },
  };
}
