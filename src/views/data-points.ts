import { z } from "@hono/zod-openapi";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import { floatOrNull, intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Labelled } from "./context.js";

export const dataPointStoredSchema = z
  .object({
    id: intSchema,
    dataPointID: z.string(),
    dataPointName: z.string(),
    productID: z.string(),
    pointDataType: intSchema,
    dataTransType: intSchema,
    unitName: textOrNull,
    unitSymbol: textOrNull,
    upperLimit: floatOrNull,
    lowerLimit: floatOrNull,
    dataStep: floatOrNull,
    binarySize: intOrNull,
    faultValue: textOrNull,
    isDiscard: intOrNull,
    enum: z.array(z.object({ value: z.unknown(), label: z.unknown() })).nullable(),
    isLocationType: intSchema,
    locationType: intOrNull,
    registerAddr: textOrNull,
    detail: textOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("DataPointStored");
export const dataPointListedSchema = dataPointStoredSchema
  .extend({ productName: z.string(), pointDataTypeLabel: textOrNull, dataTransTypeLabel: textOrNull })
  .openapi("DataPoint");
export const dataPointDetailSchema = dataPointListedSchema
  .extend({ createUser: textOrNull })
  .openapi("DataPointDetail");

export function dataPointStored(point: DataPoint, context: Labelled) {
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
    createAt: context.stamp(point.createAt),
    updateAt: context.stamp(point.updateAt),
  };
}

export function dataPointListed(point: DataPoint, context: Labelled) {
  return {
    ...dataPointStored(point, context),
    productName: point.productName,
    pointDataTypeLabel: context.label("pointDataType", point.pointDataType),
    dataTransTypeLabel: context.label("dataTransType", point.dataTransType),
  };
}

export function dataPointDetail(point: DataPoint, context: Labelled) {
  return { ...dataPointListed(point, context), createUser: point.createUser };
}
