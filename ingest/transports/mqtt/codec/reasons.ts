import type { EndReason } from "../../../meter.js";

/** Reason codes, MQTT 5.0 table 2-6, as far as we say or read them. */
export const mqttReasonCode = {
  success: 0x00,
  disconnectWithWill: 0x04,
  noSubscriptionExisted: 0x11,
  unspecified: 0x80,
  malformed: 0x81,
  protocol: 0x82,
  unsupportedVersion: 0x84,
  clientID: 0x85,
  credentials: 0x86,
  notAuthorized: 0x87,
  unavailable: 0x88,
  busy: 0x89,
  authenticationMethod: 0x8c,
  shuttingDown: 0x8b,
  keepAlive: 0x8d,
  takenOver: 0x8e,
  topicFilter: 0x8f,
  topicName: 0x90,
  packetIDNotFound: 0x92,
  receiveMaximum: 0x93,
  topicAlias: 0x94,
  oversize: 0x95,
  messageRate: 0x96,
  quota: 0x97,
  administrative: 0x98,
  sharedSubscriptions: 0x9e,
  connectionRate: 0x9f,
} as const;

/** Codes of failure begin here. */
export const failureCode = 0x80;

/** How the client learns that its connection ends; null = not at all. */
interface Ending {
  /** Return code of CONNACK before MQTT 5 (3.1.1 §3.2.2.3). */
  readonly returnCode: number | null;
  /** Reason code of CONNACK, MQTT 5.0 §3.2.2.2. */
  readonly connack: number | null;
  /** Reason code of DISCONNECT, MQTT 5.0 §3.14.2.1. */
  readonly disconnect: number | null;
  readonly text: string;
}

function ending(
  returnCode: number | null,
  connack: number | null,
  disconnect: number | null,
  text: string,
): Ending {
  return { returnCode, connack, disconnect, text };
}

export const endings: Readonly<Record<EndReason, Ending>> = {
  disconnect: ending(null, null, null, ""),
  lost: ending(null, null, null, ""),
  keep_alive: ending(
    null,
    null,
    mqttReasonCode.keepAlive,
    "nothing was heard for one and a half keep-alives",
  ),
  taken_over: ending(null, null, mqttReasonCode.takenOver, "another connection has the same client id"),
  thrown_out: ending(
    null,
    mqttReasonCode.notAuthorized,
    mqttReasonCode.administrative,
    "the device may no longer be connected",
  ),
  malformed: ending(null, mqttReasonCode.malformed, mqttReasonCode.malformed, "malformed packet"),
  protocol: ending(null, mqttReasonCode.protocol, mqttReasonCode.protocol, "protocol error"),
  topic_name: ending(null, mqttReasonCode.topicName, mqttReasonCode.topicName, "no topic name"),
  topic_alias: ending(null, null, mqttReasonCode.topicAlias, "unknown topic alias"),
  receive_maximum: ending(
    null,
    null,
    mqttReasonCode.receiveMaximum,
    "too many messages without an acknowledgement",
  ),
  oversize: ending(null, mqttReasonCode.oversize, mqttReasonCode.oversize, "the packet is too large"),
  unreleased: ending(null, null, mqttReasonCode.receiveMaximum, "too many messages of QoS 2 without PUBREL"),
  connect_timeout: ending(null, null, null, "no CONNECT came"),
  credentials: ending(4, mqttReasonCode.credentials, null, "user name or token is wrong"),
  user_name: ending(
    4,
    mqttReasonCode.credentials,
    null,
    "a user name must say which device of its certificate it is",
  ),
  auth_method: ending(null, mqttReasonCode.authenticationMethod, null, "no such authentication method"),
  back_off: ending(5, mqttReasonCode.connectionRate, null, "too many wrong credentials came from there"),
  connections: ending(
    3,
    mqttReasonCode.quota,
    null,
    "the device or its tenant has as many connections as it may",
  ),
  room: ending(3, mqttReasonCode.quota, null, "as much is held for the tenant's clients as may be"),
  rate: ending(null, null, mqttReasonCode.messageRate, "too many messages or bytes for the limit"),
  blocked: ending(5, mqttReasonCode.notAuthorized, mqttReasonCode.notAuthorized, "the device is blocked"),
  client_id: ending(2, mqttReasonCode.clientID, null, "the client id is not taken"),
  version: ending(1, mqttReasonCode.unsupportedVersion, null, "MQTT 3.1, 3.1.1 and 5 are served"),
  gave_way: ending(
    3,
    mqttReasonCode.unavailable,
    mqttReasonCode.busy,
    "another took its place: there are no more",
  ),
  unavailable: ending(3, mqttReasonCode.unavailable, mqttReasonCode.busy, "nothing can be taken now"),
  fault: ending(3, mqttReasonCode.unspecified, mqttReasonCode.unspecified, "the service failed at a packet"),
  sessions: ending(3, mqttReasonCode.quota, null, "the device has too many sessions"),
  moved: ending(
    3,
    mqttReasonCode.unavailable,
    mqttReasonCode.shuttingDown,
    "the device goes to another node",
  ),
  shutdown: ending(
    3,
    mqttReasonCode.unavailable,
    mqttReasonCode.shuttingDown,
    "the service is shutting down",
  ),
};

const published = [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99];
const released = [0x00, 0x92];

/** Reason codes that a client may send. */
export const clientCodes = {
  puback: new Set(published),
  pubrec: new Set(published),
  pubrel: new Set(released),
  pubcomp: new Set(released),
  disconnect: new Set([
    ...[0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99],
  ]),
} as const;
