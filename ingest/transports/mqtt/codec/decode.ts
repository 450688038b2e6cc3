import type { MqttSubscription } from "../../../../store/journal/message.js";
import { payloadBytesMax } from "../../../uplinks/accept.js";
import type {
  AckPacket,
  ClientPacket,
  DisconnectPacket,
  MqttVersion,
  PublishPacket,
  Qos,
  SubscribePacket,
  UnsubscribePacket,
} from "./packets.js";
import { messageProperties, type Properties, readMqttProperties } from "./properties.js";
import { malformed, protocolError, type Reader, Violation } from "./reader.js";
import { clientCodes } from "./reasons.js";

type Decode = (reader: Reader, version: MqttVersion, flags: number) => ClientPacket;

/** Control packet types, MQTT 5.0 table 2-1. */
export const mqttPacketTypes = { connect: 1, publish: 3 } as const;

/** By packet type, what a client may send after CONNECT. */
const decoders: Readonly<Record<number, Decode>> = {
  3: decodePublish,
  4: ack("puback"),
  5: ack("pubrec"),
  6: ack("pubrel"),
  7: ack("pubcomp"),
  8: decodeSubscribe,
  10: decodeUnsubscribe,
  12: (reader) => {
    reader.end();
    return { cmd: "pingreq" };
  },
  14: decodeDisconnect,
};

/** The fixed header's flags that are prescribed, MQTT 5.0 table 2-2; all others are 0. */
const prescribedFlags: Readonly<Record<number, number>> = { 6: 2, 8: 2, 10: 2 };
const dupFlag = 8;

/** Decodes what follows the fixed header of a packet. @throws Violation */
export function decodePacket(firstByte: number, reader: Reader, version: MqttVersion): ClientPacket {
  const type = firstByte >> 4;
  const decode = decoders[type];
  if (type === 0 || (type === 15 && version < 5)) throw malformed("the packet type is reserved");
  // A second CONNECT [MQTT-3.1.0-2], AUTH without a method [MQTT-4.12.0-7], or what only servers send.
  if (decode === undefined) throw protocolError(`packet type ${type} has no place here`);
  if (type !== mqttPacketTypes.publish) checkFlags(type, firstByte & 15, version);
  return decode(reader, version, firstByte & 15);
}

/** The fixed header's flags of every packet but PUBLISH [MQTT-2.1.3-1]. @throws Violation */
export function checkFlags(type: number, flags: number, version: MqttVersion): void {
  const prescribed = prescribedFlags[type] ?? 0;
  // MQTT 3.1 marks packets that are sent again, and uses no flags but DUP and QoS.
  const sentAgain = version === 3 && prescribed !== 0 && flags === (prescribed | dupFlag);
  if (flags !== prescribed && !sentAgain) throw malformed("a reserved flag is set");
}

function packetID(reader: Reader): number {
  const id = reader.uint16();
  if (id === 0) throw protocolError("the packet id is 0");
  return id;
}

const noProperties: Properties = {};

/** Filters of one SUBSCRIBE or UNSUBSCRIBE: twice as many as a session may have. */
const filtersPerPacketMax = 2000;

function tooManyFilters(): Violation {
  return new Violation("oversize", `a packet may name ${filtersPerPacketMax} topic filters`);
}

function decodePublish(reader: Reader, version: MqttVersion, flags: number): PublishPacket {
  const qos = (flags >> 1) & 3;
  const dup = (flags & dupFlag) !== 0;
  if (qos === 3) throw malformed("the QoS is 3");
  if (qos === 0 && dup && version > 3) throw malformed("DUP at QoS 0");
  const topic = reader.text();
  const messageID = qos === 0 ? 0 : packetID(reader);
  const properties = version === 5 ? readMqttProperties(reader, "publish") : noProperties;
  const { topicAlias, subscriptionIdentifier } = properties;
  if (subscriptionIdentifier !== undefined) throw protocolError("a client names no subscription");
  if (topicAlias === 0) throw new Violation("topic_alias", "the topic alias is 0");
  if (topic === "" && topicAlias === undefined && version === 5) throw protocolError("there is no topic");
  const payload = reader.rest();
  const { areTooLong = false } = properties;
  const excess = payload.length > payloadBytesMax ? "payload" : areTooLong ? "properties" : null;
  return {
    cmd: "publish",
    topic,
    alias: topicAlias ?? 0,
    payload,
    qos: qos as Qos,
    dup,
    retain: (flags & 1) !== 0,
    messageID,
    properties: properties === noProperties ? null : messageProperties(properties),
    excess,
  };
}

function ack(cmd: AckPacket["cmd"]): Decode {
  return (reader, version) => {
    const messageID = packetID(reader);
    let code = 0;
    if (version === 5 && reader.left > 0) {
      code = reader.byte();
      if (!clientCodes[cmd].has(code)) throw protocolError(`${cmd} knows no reason code ${code}`);
      if (reader.left > 0) readMqttProperties(reader, "ack");
    }
    reader.end();
    return { cmd, messageID, code };
  };
}

function decodeSubscribe(reader: Reader, version: MqttVersion): SubscribePacket {
  const messageID = packetID(reader);
  const properties = version === 5 ? readMqttProperties(reader, "subscribe") : noProperties;
  const identifier = properties.subscriptionIdentifier ?? null;
  if (identifier === 0) throw protocolError("the subscription identifier is 0");
  const filters: { filter: string; options: MqttSubscription }[] = [];
  while (reader.left > 0) {
    const filter = reader.text();
    const options = parseSubscription(reader.byte(), version, identifier);
    if (options.noLocal && filter.startsWith("$share/")) {
      throw protocolError("No Local on a shared subscription");
    }
    if (filters.push({ filter, options }) > filtersPerPacketMax) throw tooManyFilters();
  }
  if (filters.length === 0) throw protocolError("SUBSCRIBE names no topic filter");
  return { cmd: "subscribe", messageID, filters };
}

/** Subscription options, MQTT 5.0 §3.8.3.1. */
function parseSubscription(bits: number, version: MqttVersion, identifier: number | null): MqttSubscription {
  const retainHandling = (bits >> 4) & 3;
  const qos = bits & 3;
  const reserved = version === 5 ? 0xc0 : version === 4 ? 0xfc : 0;
  if ((bits & reserved) !== 0) throw malformed("a reserved subscription option is set");
  if (qos === 3) throw version === 5 ? protocolError("the QoS is 3") : malformed("the QoS is 3");
  if (version < 5) {
    return { qos: qos as Qos, noLocal: false, retainAsPublished: false, retainHandling: 0, identifier: null };
  }
  if (retainHandling === 3) throw protocolError("Retain Handling is 3");
  return {
    qos: qos as Qos,
    noLocal: (bits & 4) !== 0,
    retainAsPublished: (bits & 8) !== 0,
    retainHandling: retainHandling as 0 | 1 | 2,
    identifier,
  };
}

function decodeUnsubscribe(reader: Reader, version: MqttVersion): UnsubscribePacket {
  const messageID = packetID(reader);
  if (version === 5) readMqttProperties(reader, "unsubscribe");
  const filters: string[] = [];
  while (reader.left > 0) if (filters.push(reader.text()) > filtersPerPacketMax) throw tooManyFilters();
  if (filters.length === 0) throw protocolError("UNSUBSCRIBE names no topic filter");
  return { cmd: "unsubscribe", messageID, filters };
}

function decodeDisconnect(reader: Reader, version: MqttVersion): DisconnectPacket {
  if (version < 5 || reader.left === 0) {
    reader.end();
    return { cmd: "disconnect", code: 0, sessionExpiry: null };
  }
  const code = reader.byte();
  if (!clientCodes.disconnect.has(code)) throw protocolError(`DISCONNECT knows no reason code ${code}`);
  const properties = reader.left > 0 ? readMqttProperties(reader, "disconnect") : noProperties;
  reader.end();
  return { cmd: "disconnect", code, sessionExpiry: properties.sessionExpiryInterval ?? null };
}
