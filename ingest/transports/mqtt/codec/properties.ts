import type { MessageProperties } from "../../../../store/journal/message.js";
import { malformed, protocolError, type Reader } from "./reader.js";

/** Properties of one packet in bytes: those of a message are kept and handed on with it unless they are longer. */
export const propertiesBytesMax = 16 * 1024;

/** The properties of MQTT 5.0 §2.2.2.2 that a client may send. */
export interface Properties {
  payloadFormatIndicator?: boolean;
  messageExpiryInterval?: number;
  contentType?: string;
  responseTopic?: string;
  correlationData?: Buffer;
  subscriptionIdentifier?: number;
  sessionExpiryInterval?: number;
  authenticationMethod?: string;
  authenticationData?: Buffer;
  requestProblemInformation?: boolean;
  willDelayInterval?: number;
  requestResponseInformation?: boolean;
  serverReference?: string;
  reasonString?: string;
  receiveMaximum?: number;
  topicAliasMaximum?: number;
  topicAlias?: number;
  maximumPacketSize?: number;
  userProperties?: [string, string][];
  /** Longer than `propertiesBytesMax`: user properties, of which there may be thousands, are left out. */
  areTooLong?: boolean;
}

type Take = (properties: Properties, reader: Reader) => void;

/** A property that may occur once. */
function once<Name extends keyof Properties>(
  name: Name,
  read: (reader: Reader) => Required<Properties>[Name],
): Take {
  return (properties, reader) => {
    if (properties[name] !== undefined) throw protocolError(`${name} stands twice`);
    properties[name] = read(reader);
  };
}

const byte = (reader: Reader) => reader.flag();
const two = (reader: Reader) => reader.uint16();
const four = (reader: Reader) => reader.uint32();
const text = (reader: Reader) => reader.text();
const binary = (reader: Reader) => reader.binary();

const userProperty: Take = (properties, reader) => {
  if (properties.areTooLong === true) {
    reader.skip(reader.uint16());
    reader.skip(reader.uint16());
    return;
  }
  properties.userProperties ??= [];
  properties.userProperties.push([reader.text(), reader.text()]);
};

/** By identifier, MQTT 5.0 table 2-4. */
const fields: Readonly<Record<number, Take>> = {
  1: once("payloadFormatIndicator", byte),
  2: once("messageExpiryInterval", four),
  3: once("contentType", text),
  8: once("responseTopic", text),
  9: once("correlationData", binary),
  11: once("subscriptionIdentifier", (reader) => reader.variable()),
  17: once("sessionExpiryInterval", four),
  21: once("authenticationMethod", text),
  22: once("authenticationData", binary),
  23: once("requestProblemInformation", byte),
  24: once("willDelayInterval", four),
  25: once("requestResponseInformation", byte),
  28: once("serverReference", text),
  31: once("reasonString", text),
  33: once("receiveMaximum", two),
  34: once("topicAliasMaximum", two),
  35: once("topicAlias", two),
  38: userProperty,
  39: once("maximumPacketSize", four),
};

/** The properties that each packet may have. */
const allowed = {
  connect: new Set([17, 21, 22, 23, 25, 33, 34, 38, 39]),
  will: new Set([1, 2, 3, 8, 9, 24, 38]),
  publish: new Set([1, 2, 3, 8, 9, 11, 35, 38]),
  ack: new Set([31, 38]),
  subscribe: new Set([11, 38]),
  unsubscribe: new Set([38]),
  disconnect: new Set([17, 28, 31, 38]),
} as const;

const none: Properties = Object.freeze({});

/** Reads a property length and that many bytes of properties. @throws Violation */
export function readMqttProperties(reader: Reader, packet: keyof typeof allowed): Properties {
  const length = reader.variable();
  if (length === 0) return none;
  const part = reader.part(length);
  const properties: Properties = length > propertiesBytesMax ? { areTooLong: true } : {};
  while (part.left > 0) {
    const id = part.variable();
    const take = fields[id];
    if (take === undefined || !allowed[packet].has(id)) throw malformed(`property ${id} has no place here`);
    take(properties, part);
  }
  return properties;
}

/** The properties that travel with a message, or null. @throws Violation */
export function messageProperties(all: Properties): MessageProperties | null {
  const { payloadFormatIndicator, messageExpiryInterval, contentType, responseTopic } = all;
  const { correlationData, userProperties } = all;
  // A response topic is a topic name [MQTT-3.3.2-14].
  if (responseTopic !== undefined && /^$|[+#]/.test(responseTopic)) {
    throw protocolError("the response topic is no topic name");
  }
  const properties: MessageProperties = {
    ...(payloadFormatIndicator === undefined ? {} : { payloadFormatIndicator }),
    ...(messageExpiryInterval === undefined ? {} : { messageExpiryInterval }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(responseTopic === undefined ? {} : { responseTopic }),
    ...(correlationData === undefined ? {} : { correlationData: new Uint8Array(correlationData) }),
    ...(userProperties === undefined ? {} : { userProperties }),
  };
  return Object.keys(properties).length === 0 ? null : properties;
}
