import { randomUUID } from "node:crypto";
import { endsWithConnection, neverExpires, type Will } from "../../../../store/journal/message.js";
import { isTopicName } from "../../../messages/topics.js";
import type { ConnectRequest, MqttVersion, Qos, Terms } from "./packets.js";
import { messageProperties, type Properties, readMqttProperties } from "./properties.js";
import { malformed, protocolError, type Reader, Violation } from "./reader.js";

const clientIDLengthMax = 256;
const receiveMaximumDefault = 65_535;

/** Connect flags, MQTT 5.0 §3.1.2.3. */
const flag = { reserved: 1, clean: 2, will: 4, willRetain: 32, password: 64, username: 128 } as const;
const willQosShift = 3;

/**
 * The version that a client speaks, and whether we serve it: if not, `version` is one for the refusal.
 */
interface Protocol {
  readonly version: MqttVersion;
  readonly served: boolean;
}

const levels: Readonly<Record<string, Readonly<Record<number, MqttVersion>>>> = {
  MQTT: { 4: 4, 5: 5 },
  MQIsdp: { 3: 3 },
};

/** Reads the protocol name and level of CONNECT. @throws Violation if it is another protocol [MQTT-3.1.2-1] */
export function readProtocol(reader: Reader): Protocol {
  const name = reader.text();
  const known = levels[name];
  if (known === undefined || !Object.hasOwn(levels, name)) throw protocolError("the protocol is not MQTT");
  const level = reader.byte();
  const version = known[level];
  if (version !== undefined) return { version, served: true };
  // A bridge sets the high bit; bridges and clients of older versions understand only the short CONNACK.
  return { version: (level & 0x7f) < 5 ? 4 : 5, served: false };
}

/** Reads CONNECT after the protocol level. @throws Violation */
export function readConnect(reader: Reader, version: MqttVersion): ConnectRequest {
  const flags = reader.byte();
  const has = (bit: number): boolean => (flags & bit) !== 0;
  checkFlags(flags, version);
  const keepAlive = reader.uint16();
  const properties = version === 5 ? readMqttProperties(reader, "connect") : {};
  const terms = readTerms(version, properties);
  const givenID = reader.text();
  const will = has(flag.will) ? readWill(reader, version, flags) : null;
  const username = has(flag.username) ? reader.text() : undefined;
  const token = has(flag.password) ? reader.binary().toString("utf8") : undefined;
  reader.end();
  checkAuthentication(properties);
  const cleanStart = has(flag.clean);
  const expiry = cleanStart ? endsWithConnection : neverExpires;
  return {
    ...terms,
    ...identify(givenID, version, cleanStart),
    cleanStart,
    // Before MQTT 5 one flag said both.
    sessionExpiry: version === 5 ? (properties.sessionExpiryInterval ?? endsWithConnection) : expiry,
    keepAlive,
    will,
    username,
    token,
  };
}

function checkFlags(flags: number, version: MqttVersion): void {
  const will = (flags & flag.will) !== 0;
  const willQos = (flags >> willQosShift) & 3;
  if (version > 3 && (flags & flag.reserved) !== 0) throw malformed("the reserved connect flag is set");
  if (willQos === 3) throw malformed("the will has QoS 3");
  if (!will && (willQos > 0 || (flags & flag.willRetain) !== 0))
    throw malformed("there is no will to describe");
  const passwordOnly = (flags & (flag.password | flag.username)) === flag.password;
  if (version < 5 && passwordOnly) throw protocolError("a password needs a user name");
}

function readTerms(version: MqttVersion, properties: Properties): Terms {
  const { receiveMaximum = receiveMaximumDefault, maximumPacketSize = Number.POSITIVE_INFINITY } = properties;
  if (receiveMaximum === 0) throw protocolError("Receive Maximum is 0");
  if (maximumPacketSize === 0) throw protocolError("Maximum Packet Size is 0");
  return {
    version,
    receiveMaximum,
    packetBytesMax: maximumPacketSize,
    topicAliasMax: properties.topicAliasMaximum ?? 0,
    problemInformation: version === 5 && (properties.requestProblemInformation ?? true),
  };
}

function readWill(reader: Reader, version: MqttVersion, flags: number): Will {
  const properties = version === 5 ? readMqttProperties(reader, "will") : {};
  const topic = reader.text();
  const payload = new Uint8Array(reader.binary());
  if (!isTopicName(topic)) throw new Violation("topic_name", "the will's topic is no topic name");
  return {
    topic,
    payload,
    qos: ((flags >> willQosShift) & 3) as Qos,
    retain: (flags & flag.willRetain) !== 0,
    delay: properties.willDelayInterval ?? 0,
    properties: messageProperties(properties),
  };
}

/** Enhanced authentication (MQTT 5.0 §4.12) is not offered. */
function checkAuthentication(properties: Properties): void {
  if (properties.authenticationMethod !== undefined) {
    throw new Violation("auth_method", "no authentication method but user name and token");
  }
  if (properties.authenticationData !== undefined) {
    throw protocolError("authentication data needs an authentication method");
  }
}

function identify(
  clientID: string,
  version: MqttVersion,
  cleanStart: boolean,
): { readonly clientID: string; readonly assigned: boolean } {
  if (clientID.length > clientIDLengthMax) {
    throw new Violation("client_id", `a client id may have ${clientIDLengthMax} characters`);
  }
  if (clientID !== "") return { clientID, assigned: false };
  // [MQTT-3.1.3-8] of 3.1.1; 3.1 knows no empty client id; MQTT 5 learns its id from CONNACK and can keep it.
  const mayBeEmpty = version === 5 || (version === 4 && cleanStart);
  if (!mayBeEmpty) throw new Violation("client_id", "the client id is empty");
  return { clientID: randomUUID(), assigned: true };
}
