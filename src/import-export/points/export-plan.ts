import type { OriginalForm } from "../../../query/original.js";
import type { SeriesRefs } from "../../../query/series-refs.js";
import { type DataPoint, toSeriesKind } from "../../../store/metadata/products/data-points.js";
import type { SeriesRef } from "../../../store/series/series.js";
import type { ExportDevice, ExportPlan } from "./export-messages.js";

export interface PlannedDevice {
  readonly tenant: number;
  readonly productID: string;
  readonly deviceID: string;
  /** In the order of their columns. */
  readonly points: readonly DataPoint[];
}

const placeType = 6;

export function originalForm(point: DataPoint): OriginalForm {
  return point.pointDataType === placeType ? "place" : toSeriesKind(point.pointDataType);
}

/** Numbers the series of the devices for the writing thread. */
export function planExport(
  refs: SeriesRefs,
  form: Omit<ExportPlan, "devices">,
  exported: readonly PlannedDevice[],
): { plan: ExportPlan; series: SeriesRef[] } {
  const series: SeriesRef[] = [];
  const devices = exported.map(
    ({ points, ...device }): ExportDevice => ({
      deviceID: device.deviceID,
      points: points.map((point) => ({
        dataPointID: point.dataPointID,
        form: originalForm(point),
        series:
          series.push(refs.of(device, { field: point.field, kind: toSeriesKind(point.pointDataType) })) - 1,
      })),
    }),
  );
  return { plan: { ...form, devices }, series };
}
