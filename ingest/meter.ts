import type { Follower } from "../store/journal/dead-letters.js";
import { systemClock } from "../store/lib/clock.js";
import type { ContactType } from "../store/metadata/notifications/contact-points.js";
import type { Reason } from "./decode/reasons.js";
import { createRates, type Rates } from "./rates.js";

/** Why a connection was refused or ended, or a delivery given up; labels of `tidemark_connections_ended_total`. */
export const endReasons = [
  "disconnect", // orderly
  "lost", // the socket closed without DISCONNECT
  "keep_alive",
  "taken_over",
  "thrown_out", // the device was blocked, changed its credentials, or is gone; or a person ended its session
  "malformed",
  "protocol", // out of order, or not allowed
  "topic_name",
  "topic_alias",
  "receive_maximum", // more unacknowledged messages than announced
  "oversize",
  "unreleased", // too many QoS 2 messages without PUBREL
  "connect_timeout",
  "credentials",
  "user_name", // none, and the certificate is bound to several devices
  "auth_method", // MQTT 5's own authentication, which is not offered
  "back_off", // guessing: too many wrong credentials from there
  "blocked",
  "client_id",
  "version",
  "sessions", // too many of one device
  "connections", // as many of the device or tenant as its limit allows
  "room", // its will: as much is held for the tenant's clients as may be
  "rate", // more messages or bytes than the limit allows, for too long
  "gave_way", // another took its place, when there was none left
  "unavailable", // the service cannot take anything now
  "fault", // an error of ours in handling one of its packets
  "moved", // its device's shard goes to another process
  "shutdown",
] as const;
export type EndReason = (typeof endReasons)[number];

/** Why a message or a session that was to be held for a client is not. */
export const dropReasons = [
  "slow_reader",
  "queue_full",
  "retained_full",
  "session_room",
  "expired",
  "packet_size",
  "encoding", // it cannot be written as a packet
] as const;
type DropReason = (typeof dropReasons)[number];

/** Why a socket never came to MQTT; labels of `tidemark_handshakes_failed_total`. */
export const handshakeFailures = [
  "lost", // the peer closed it
  "timeout",
  "tls", // no version or cipher in common, or bytes that are no TLS
  "certificate", // the mutual listener got none, or one of an unknown authority
  "http", // no WebSocket upgrade
  "subprotocol", // an upgrade that does not offer MQTT
  "proxy", // a trusted proxy's header that cannot be read, or none where one is required
  "gave_way", // another took its place, when there was none left
  "full", // every place was held by devices
] as const;
export type HandshakeFailure = (typeof handshakeFailures)[number];

/** Why the service ended an HTTP connection; labels of `tidemark_http_connections_ended_total`. */
export const httpEndReasons = [
  "timeout", // what it owed did not come in time, or its answer was not taken
  "gave_way", // another took its place, when there was none left
  "full", // every place was held by callers
  "held_bytes", // its address had too many bytes of unfinished requests here
] as const;
export type HttpEndReason = (typeof httpEndReasons)[number];

/** Why a message of a client is not kept while its connection goes on; labels of `tidemark_messages_refused_total`. */
export const messageRefusals = [
  "oversize", // reported to the client in MQTT 5, at QoS 1 and 2
  "topic", // too many bytes or levels; reported in the same way
] as const;
type MessageRefusal = (typeof messageRefusals)[number];

/** What a policy has refused; labels of `tidemark_policy_refused_total`. */
export const policyRefusals = [
  "publish", // kept as a refused event, or answered so
  "subscribe",
  "receive", // a delivery withheld
] as const;
type PolicyRefusal = (typeof policyRefusals)[number];

/** Why a message of the external broker is not taken; labels of `tidemark_broker_refused_total`. */
export const brokerRefusals = [
  "topic", // not `devices/{deviceID}/up/{topic}`
  "malformed", // malformed properties
  "device", // nobody has that deviceID
  "blocked",
  "oversize",
  "fault", // an error of ours
  "rate", // further over its device's or tenant's limit than a connection of ours may be
] as const;
export type BrokerRefusal = (typeof brokerRefusals)[number];

/** Why a connection to the external broker ended; labels of `tidemark_broker_connections_ended_total`. */
export const brokerEnds = [
  "unreachable", // no connection, or no TLS
  "refused", // CONNACK says no
  "subscription", // SUBACK says no
  "disconnected", // the broker says so
  "taken_over", // another client has our client id
  "lost", // the socket closed
  "keep_alive", // nothing was heard
  "timeout", // the broker did not answer CONNECT and SUBSCRIBE
  "protocol", // what came is no MQTT
  "closed", // by us
] as const;
export type BrokerEnd = (typeof brokerEnds)[number];

/** What became of an attempt to send a message about alerts; labels of `tidemark_notifications_total`. */
export const notificationOutcomes = ["delivered", "retried", "limited", "failed"] as const;
export type NotificationOutcome = (typeof notificationOutcomes)[number];

/** What ingest counts; read by /metrics. Everything only grows, except the gauges. */
export interface Meter {
  messages: number;
  messageBytes: number;
  /** Rates of the last ten minutes, by tenant. */
  readonly rates: Rates;
  redelivered: number;
  /** Refused connections beyond one a device and second, which the connect log leaves out. */
  denialsUnrecorded: number;
  pointsStored: number;
  connections: number;
  /** Connections of MQTT that another node of the cluster has, and that this one passes on. */
  relayed: number;
  /** TLS and WebSocket handshakes under way, or waiting for their turn. */
  handshakesPending: number;
  readonly handshakesFailed: Map<HandshakeFailure, number>;
  httpConnections: number;
  readonly httpEnded: Map<HttpEndReason, number>;
  /** Bytes of answers that have not been read yet. */
  answerBytes: number;
  /** Answers that were given up because others are not being read. */
  answersRefused: number;
  readonly refused: Map<Reason, number>;
  /** Records of the journal that a follower failed at, and passed over. */
  readonly recordsFailed: Map<Follower, number>;
  readonly ended: Map<EndReason, number>;
  readonly dropped: Map<DropReason, number>;
  readonly messagesRefused: Map<MessageRefusal, number>;
  readonly policyRefused: Map<PolicyRefusal, number>;
  /** Beginnings and ends of alerts beyond those that one message may bring about. */
  alertEventsCounted: number;
  /** Details of alerts beyond those that one message may bring about. */
  detailsLeftOut: number;
  /** Messages that waited for their limit. */
  slowedDown: number;
  /** Messages of the external broker that came. */
  brokerMessages: number;
  readonly brokerRefused: Map<BrokerRefusal, number>;
  /** Connections to it that ended, by reason. */
  readonly brokerEnded: Map<BrokerEnd, number>;
  /** 1 while it is connected. */
  brokerConnections: number;
  /** Attempts to notify of alerts, by type of the contact point and outcome. */
  readonly notifications: Map<`${ContactType} ${NotificationOutcome}`, number>;
  notificationsWaiting: number;
  /** Contact points whose last message was not taken. */
  contactPointsFailing: number;
}

/** `monotonic`: milliseconds; never set. */
export function createMeter(monotonic: () => number = systemClock.monotonic): Meter {
  return {
    messages: 0,
    messageBytes: 0,
    rates: createRates(monotonic),
    redelivered: 0,
    denialsUnrecorded: 0,
    pointsStored: 0,
    connections: 0,
    relayed: 0,
    handshakesPending: 0,
    handshakesFailed: new Map(),
    httpConnections: 0,
    httpEnded: new Map(),
    answerBytes: 0,
    answersRefused: 0,
    refused: new Map(),
    recordsFailed: new Map(),
    ended: new Map(),
    dropped: new Map(),
    messagesRefused: new Map(),
    policyRefused: new Map(),
    alertEventsCounted: 0,
    detailsLeftOut: 0,
    slowedDown: 0,
    brokerMessages: 0,
    brokerRefused: new Map(),
    brokerEnded: new Map(),
    brokerConnections: 0,
    notifications: new Map(),
    notificationsWaiting: 0,
    contactPointsFailing: 0,
  };
}

export function addCount<Key>(counts: Map<Key, number>, key: Key, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
