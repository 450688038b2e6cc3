import type { DataStream } from "../../store/metadata/products/data-streams.js";
import type { Labelled } from "./context.js";

export function dataStreamListed(stream: DataStream, context: Labelled) {
  return {
    id: stream.id,
    productName: stream.productName,
    streamName: stream.streamName,
    streamType: stream.streamType,
    streamTypeLabel: context.label("streamType", stream.streamType),
    streamDataType: stream.streamDataType,
    streamDataTypeLabel: context.label("streamDataType", stream.streamDataType),
    topic: stream.topic,
  };
}

export function dataStreamStored(stream: DataStream, context: Labelled) {
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

export function dataStreamDetail(stream: DataStream, context: Labelled) {
  return {
    ...dataStreamStored(stream, context),
    productName: stream.productName,
    streamTypeLabel: context.label("streamType", stream.streamType),
    streamDataTypeLabel: context.label("streamDataType", stream.streamDataType),
    dataPointNames: stream.dataPointNames,
  };
}
