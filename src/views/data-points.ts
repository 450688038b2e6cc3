import type { DataPoint } from "../../store/data-points.js";
import { label } from "./labels.js";
import type { Stamp } from "./time.js";

export function dataPointStored(point: DataPoint, stamp: Stamp) {
  return {
    id: point.id,
    dataPointID: point.dataPointID,
    dataPointName: point.dataPointName,
    productID: point.productID,
    pointDataType: point.pointDataType,
    dataTransType: point.dataTransType,
    unitName: point.unitName,
    unitSymbol: point.unitSymbol,
    upperLimit: point.upperLimit,
    lowerLimit: point.lowerLimit,
    dataStep: point.dataStep,
    binarySize: point.binarySize,
    faultValue: point.faultValue,
    isDiscard: point.isDiscard,
    enum: point.enum,
    isLocationType: point.isLocationType,
    locationType: point.locationType,
    registerAddr: point.registerAddr,
    detail: point.detail,
    createAt: stamp(point.createAt),
    updateAt: stamp(point.updateAt),
  };
}

export function dataPointListed(point: DataPoint, stamp: Stamp) {
  return {
    ...dataPointStored(point, stamp),
    productName: point.productName,
    pointDataTypeLabel: label("pointDataType", point.pointDataType),
    dataTransTypeLabel: label("dataTransType", point.dataTransType),
  };
}

export function dataPointDetail(point: DataPoint, stamp: Stamp) {
  return { ...dataPointListed(point, stamp), createUser: point.createUser };
}
