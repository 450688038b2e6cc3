import { type DataPoint, toSeriesKind } from "../../store/metadata/products/data-points.js";
import type { DataStream } from "../../store/metadata/products/data-streams.js";
import type { SeriesRef } from "../../store/series/series.js";
import { type BinaryLayout, type BinaryPoint, createLayout } from "./binary.js";
import { withEnum } from "./enumeration.js";
import { listSenmlUnits } from "./senml-units.js";
import { type Converter, converters, takesNumbers } from "./values.js";

/** A series of one device with the record id of its data point. */
export interface PointSeries extends SeriesRef {
  readonly dataPointIntID: number;
  /** Its values are locations: texts of JSON arrays. */
  readonly isLocation: boolean;
}

/** One data point as the decoder uses it. */
export interface PointEntry extends BinaryPoint {
  readonly id: number;
  readonly reportable: boolean;
  /** Microseconds since 1970. */
  readonly createdAt: number;
  readonly convert: Converter;
  /** A finite number within ±2^53 needs no conversion. */
  readonly takesNumbers: boolean;
  readonly field: string;
  readonly kind: SeriesRef["kind"];
  /** A fault of this value keeps its message out of the series; null: no fault does. */
  readonly discards: string | null;
  /** Which values a number may have: `from` and so many steps of `size` above it. */
  readonly step: { readonly from: number; readonly size: number } | null;
  /** The units of SenML that its values may be in; null if its unit says nothing. */
  readonly units: ReadonlySet<string> | null;
}

export interface StreamEntry {
  /** The layout of a binary stream, null if it cannot be read; undefined for JSON. */
  readonly layout: BinaryLayout | null | undefined;
  readonly points: ReadonlyMap<string, PointEntry>;
}

/** What the payloads of a product's devices mean. */
export interface DecodeModel {
  readonly points: ReadonlyMap<string, PointEntry>;
  /** Uplink streams by topic. */
  readonly streams: ReadonlyMap<string, StreamEntry>;
}

/** A device as decoding sees it. */
export interface DecodableDevice {
  readonly product: DecodeModel;
  /** The series of one of its data points; the same object each time. */
  series(point: PointEntry): PointSeries;
}

const fault = 4;
const measured = 1;
const binary = 2;

export function toPointEntry(point: DataPoint): PointEntry {
  const { id, dataPointID, pointDataType, binarySize, field, faultValue, dataStep, lowerLimit } = point;
  const convert = converters.get(pointDataType);
  if (convert === undefined) throw new Error(`no converter for pointDataType ${pointDataType}`);
  const checked = withEnum(convert, point.enum ?? []);
  return {
    id,
    dataPointID,
    pointDataType,
    binarySize,
    field,
    reportable: point.dataTransType !== 2,
    createdAt: point.createAt * 1000,
    convert: checked,
    takesNumbers: checked === convert && takesNumbers(pointDataType),
    kind: toSeriesKind(pointDataType),
    discards: pointDataType === fault && point.isDiscard === 1 ? faultValue : null,
    step:
      pointDataType === measured && dataStep !== null && dataStep > 0
        ? { from: lowerLimit ?? 0, size: dataStep }
        : null,
    units: listSenmlUnits(point.unitSymbol, point.unitName),
  };
}

export function toStreamEntry(stream: DataStream, points: ReadonlyMap<number, PointEntry>): StreamEntry {
  const members = stream.dataPoints.flatMap((id) => points.get(id) ?? []);
  return {
    layout: stream.streamDataType === binary ? createLayout(members) : undefined,
    points: new Map(members.map((point) => [point.dataPointID, point])),
  };
}
