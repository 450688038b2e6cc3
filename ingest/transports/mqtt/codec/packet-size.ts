import type { TopicBounds } from "../../../messages/topics.js";
import { payloadBytesMax } from "../../../uplinks/accept.js";
import { propertiesBytesMax } from "./properties.js";

/** Fixed header, lengths and packet id. */
const headBytes = 64;

/** Larger packets cannot hold an acceptable message: our Maximum Packet Size. */
export function computePacketBytesMax(topics: TopicBounds): number {
  return payloadBytesMax + propertiesBytesMax + topics.bytesMax + headBytes;
}
