import mqttPacket, { type Packet } from "mqtt-packet";
import type { MqttVersion, Terms } from "./packets.js";

/** What may accompany the reason code of an answer, MQTT 5.0 §3.2.2.3. */
export interface ConnackProperties {
  readonly receiveMaximum: number;
  readonly maximumPacketSize: number;
  readonly topicAliasMaximum: number;
  readonly sharedSubscriptionAvailable: boolean;
  readonly assignedClientIdentifier?: string;
  readonly serverKeepAlive?: number;
  readonly sessionExpiryInterval?: number;
}

/** CONNACK before MQTT 5; MQTT 3.1 knows no Session Present. */
export function connackBelow5(version: MqttVersion, returnCode: number, sessionPresent: boolean): Buffer {
  return Buffer.from([0x20, 2, sessionPresent && version === 4 ? 1 : 0, returnCode]);
}

/** Null if the client cannot take a packet of that size, not even without the reason in words. */
export function connack(
  terms: Terms,
  reasonCode: number,
  sessionPresent: boolean,
  properties: ConnackProperties | null,
  reason: string,
): Buffer | null {
  const packet = { cmd: "connack", reasonCode, sessionPresent } as const;
  return fitting(terms, reason, (words) => ({ ...packet, properties: { ...properties, ...words } }));
}

/** One code a filter, in the order of SUBSCRIBE; below MQTT 5 every failure is 0x80. */
export function suback(
  terms: Terms,
  messageId: number,
  codes: readonly number[],
  reason: string,
): Buffer | null {
  const granted = terms.version === 5 ? [...codes] : codes.map((code) => Math.min(code, 0x80));
  return fitting(terms, reason, (properties) => ({ cmd: "suback", messageId, granted, properties }));
}

/** Before MQTT 5 it carries no codes. */
export function unsuback(terms: Terms, messageId: number, codes: readonly number[]): Buffer | null {
  return fitting(terms, "", () => ({ cmd: "unsuback", messageId, granted: [...codes], properties: {} }));
}

/** PUBACK, PUBREC, PUBREL or PUBCOMP of MQTT 5 with another code than success. */
export function negativeAck(
  terms: Terms,
  cmd: "puback" | "pubrec" | "pubrel" | "pubcomp",
  messageId: number,
  reasonCode: number,
  reason: string,
): Buffer | null {
  return fitting(terms, reason, (properties) => ({ cmd, messageId, reasonCode, properties }));
}

/** DISCONNECT of the server, which only MQTT 5 knows. */
export function encodeDisconnect(terms: Terms, reasonCode: number, reason: string): Buffer | null {
  return fitting(terms, reason, (properties) => ({ cmd: "disconnect", reasonCode, properties }));
}

/** With the reason in words if the client wants it and it fits [MQTT-3.1.2-24], [MQTT-3.1.2-29]. */
function fitting(
  terms: Terms,
  reason: string,
  packet: (words: { reasonString?: string }) => Packet,
): Buffer | null {
  const { version: protocolVersion, packetBytesMax } = terms;
  if (reason !== "" && terms.problemInformation) {
    const told = mqttPacket.generate(packet({ reasonString: reason }), { protocolVersion });
    if (told.length <= packetBytesMax) return told;
  }
  const bytes = mqttPacket.generate(packet({}), { protocolVersion });
  return bytes.length <= packetBytesMax ? bytes : null;
}
