import type { DataStream } from "../../store/data-streams.js";
import { label } from "./labels.js";
import type { Stamp } from "./time.js";

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

export function dataStreamStored(stream: DataStream, stamp: Stamp) {
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
    createAt: stamp(stream.createAt),
    updateAt: stamp(stream.updateAt),
  };
}

export function dataStreamDetail(stream: DataStream, stamp: Stamp) {
  return {
    ...dataStreamStored(stream, stamp),
    productName: stream.productName,
    streamTypeLabel: label("streamType", stream.streamType),
    streamDataTypeLabel: label("streamDataType", stream.streamDataType),
    dataPointNames: stream.dataPointNames,
  };
}
