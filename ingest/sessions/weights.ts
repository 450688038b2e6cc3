import type { MessageProperties, Will } from "../../store/journal/message.js";
import type { PlatformPart } from "../messages/platform-subscriptions.js";

/** What sessions hold costs so many bytes of memory, rather over- than underestimated. */

/** Bytes of a message: its objects, its place in a queue, and the buffer around its payload. */
const messageBytes = 320;
const propertiesBytes = 96;
const userPropertyBytes = 112;
const identifierBytes = 16;
/** Bytes of a topic filter: its entry, and its nodes of the trie. */
const filterBytes = 480;
/** Bytes of the packet id of a QoS 2 message that is not released. */
export const unreleasedBytes = 32;

/** V8 holds a character in two bytes at most. */
const textBytes = (text: string | undefined): number => 2 * (text?.length ?? 0);

/** One message that waits or is retained; each copy counts by itself. */
export function weightOfMessage(message: {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly properties: MessageProperties | null;
  readonly identifiers?: readonly number[];
}): number {
  const { topic, payload, properties, identifiers = [] } = message;
  const said = properties === null ? 0 : weightOfProperties(properties);
  return messageBytes + textBytes(topic) + payload.length + said + identifierBytes * identifiers.length;
}

function weightOfProperties(properties: MessageProperties): number {
  const { contentType, responseTopic, correlationData, userProperties = [] } = properties;
  let bytes = propertiesBytes + textBytes(contentType) + textBytes(responseTopic);
  bytes += correlationData === undefined ? 0 : userPropertyBytes + correlationData.length;
  for (const [name, value] of userProperties) bytes += userPropertyBytes + textBytes(name) + textBytes(value);
  return bytes;
}

export function weightOfWill(will: Will | null): number {
  return will === null ? 0 : weightOfMessage(will);
}

export function weightOfFilter(filter: string): number {
  return filterBytes + textBytes(filter);
}

export function weightOfPlatform(part: PlatformPart | null): number {
  let bytes = 0;
  for (const filter of part?.keys() ?? []) bytes += weightOfFilter(filter);
  return bytes;
}
