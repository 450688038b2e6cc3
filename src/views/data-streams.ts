import type { DataStream } from "../../store/metadata/products/data-streams.js";
import { label } from "../http/labels.js";
import type { Stamped } from "./context.js";

export function dataStreamListed(stream: DataStream) {
  return {
    id: stream.id,
    productName: stream.productName,
    streamName: stream.streamName,
    streamType: stream.streamType,
    streamTypeLabel: label("streamType", stream.streamType),
    streamDataType: stream.streamDataType,
    streamDataTypeLabel: label("streamDataType", stream.streamDataType),
    topic: stream.topic,
  };
}

export function dataStreamStored(stream: DataStream, context: Stamped) {
  return {
    id: stream.id,
    productID: stream.productID,
    streamName: stream.streamName,
    streamType: stream.streamType,
    streamDataType: stream.streamDataType,
    topic: stream.topic,
    dataPoints: stream.dataPoints,
    detail: stream.detail,
    userIntID: stream.userIntID,
    createAt: context.stamp(stream.createAt),
    updateAt: context.stamp(stream.updateAt),
  };
}

export function dataStreamDetail(stream: DataStream, context: Stamped) {
  return {
    ...dataStreamStored(stream, context),
    productName: stream.productName,
    streamTypeLabel: label("streamType", stream.streamType),
    streamDataTypeLabel: label("streamDataType", stream.streamDataType),
    dataPointNames: stream.dataPointNames,
  };
}
