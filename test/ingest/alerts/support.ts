import type { DataPoint } from "../../../store/metadata/products/data-points.js";

/** A data point with what its rules look at. */
export const makePoint = (id: number, dataPointID: string, fields: Partial<DataPoint> = {}) =>
  ({
    id,
    dataPointID,
    dataPointName: dataPointID,
    pointDataType: 1,
    upperLimit: null,
    lowerLimit: null,
    faultValue: null,
    isLocationType: 0,
    locationType: null,
    ...fields,
  }) as DataPoint;
