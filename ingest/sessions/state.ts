import { type MessageProperties, neverExpires, type Will } from "../../store/journal/message.js";
import type { PlatformPart } from "../messages/platform-subscriptions.js";
import { emptyMap, emptySet } from "../messages/shared-empty.js";
import { noSubscriptions, type Subscriptions } from "./subscriptions.js";

/**
 * What the endpoint remembers of a client (MQTT 5.0 §4.1). It is a function of the journal: whatever changes it is a
 * record, applied in the journal's order once it is on disk, so that a restart comes to the same state, packet ids
 * included.
 */
export interface SessionState {
  readonly tenant: number;
  readonly device: number;
  readonly clientID: string;
  /** Hash of the client id, as records carry it. */
  readonly session: number;
  /** Journal id of the connect record; 0 while nobody is connected. */
  connection: number;
  /** Address and keep-alive seconds of the present or last connection. */
  ip: string;
  keepAlive: number;
  /** Microseconds since 1970; 0 while connected. */
  endedAt: number;
  /** Seconds that it outlives its connection. */
  expiry: number;
  /** Published unless the client says goodbye. */
  will: Will | null;
  subscriptions: Subscriptions;
  /** The filters that the platform wants of it; null: none, as nearly always. */
  platform: PlatformPart | null;
  /** Whether the subscription to the inbox that every session begins with still stands. */
  hasInbox: boolean;
  /** The packet id that was given last. */
  lastMessageID: number;
  /** What goes down at QoS 1 and 2 and is not settled, by packet id, in the order in which it came. */
  outgoing: ReadonlyMap<number, Outgoing>;
  outgoingBytes: number;
  /** Bytes of its subscriptions, its will and its packet ids. */
  ownBytes: number;
  /** It has ended or was replaced: whatever is still on its way to it goes to nobody. */
  isOver: boolean;
  /** Packet ids of QoS 2 messages that came up and are not released. */
  unreleased: ReadonlySet<number>;
  /** The present connection. */
  link: SessionLink | null;
}

/** A message as it goes to one client. */
export interface SessionMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: MessageProperties | null;
  /** Identifiers of the subscriptions that brought it. */
  readonly identifiers: readonly number[];
  /** When it came in, microseconds since 1970: its expiry counts from there. */
  readonly at: number;
}

export interface Outgoing extends SessionMessage {
  readonly messageID: number;
  readonly qos: 1 | 2;
  /** The client may have seen it. */
  sent: boolean;
  /** PUBREC has come: the client has it, and PUBREL is due. */
  received: boolean;
  /** The command that it is: record id of its control log. */
  readonly receipt: number | null;
  /** Receives the outcome of the message. */
  settled: Settled | undefined;
}

/** What became of a message of QoS 1 or 2: acknowledged, or given up. */
export type Settled = (acknowledged: boolean) => void;

/** A live connection as its session's state uses it. */
export interface SessionLink {
  /** At QoS 0; false if the reader is too slow for it. */
  deliver(message: SessionMessage): boolean;
  /** The message is in the state's `outgoing`. */
  send(message: Outgoing): void;
  /** Retained messages at QoS 0, taken as quickly as the client reads; null: some have been looked at, for nothing. */
  handOver(messages: Iterator<SessionMessage | null>): void;
  /** Bytes that the client has not taken. */
  readonly waitingBytes: number;
  /** Messages wait in the session until the client fetches them, rather than being on their way to it. */
  readonly isPolled?: boolean;
}

/** A message that the device's space keeps for later subscribers. */
export interface Retained {
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly properties: MessageProperties | null;
  readonly at: number;
  /** Ascends with each message that this run retains; 0 for those of earlier runs. */
  readonly order: number;
}

/** A will whose connection has ended. */
export interface DueWill {
  readonly tenant: number;
  readonly device: number;
  readonly session: number;
  readonly clientID: string;
  readonly ip: string;
  /** The connection that left it. */
  readonly connection: number;
  /** Microseconds since 1970. */
  dueAt: number;
  readonly will: Will;
}

/** What all clients of one device share. */
export interface DeviceSessions {
  readonly tenant: number;
  readonly device: number;
  /** For the inbox's other name. */
  deviceID: string;
  readonly sessions: Map<string, SessionState>;
  retained: ReadonlyMap<string, Retained>;
  retainedBytes: number;
  /** Wills of connections that have ended, until their record is on disk. */
  readonly wills: DueWill[];
}

export function createSessionState(
  tenant: number,
  device: number,
  clientID: string,
  session: number,
): SessionState {
  return {
    tenant,
    device,
    clientID,
    session,
    connection: 0,
    ip: "",
    keepAlive: 0,
    endedAt: 0,
    expiry: 0,
    will: null,
    subscriptions: noSubscriptions,
    platform: null,
    hasInbox: true,
    lastMessageID: 0,
    outgoing: emptyMap,
    outgoingBytes: 0,
    ownBytes: 0,
    isOver: false,
    unreleased: emptySet,
    link: null,
  };
}

export function createDeviceSessions(tenant: number, device: number, deviceID: string): DeviceSessions {
  return { tenant, device, deviceID, sessions: new Map(), retained: emptyMap, retainedBytes: 0, wills: [] };
}

const micros = 1e6;

/** When a session without connection is over; Infinity for one that is connected or has no end. */
export function expiresAt({ connection, endedAt, expiry }: SessionState): number {
  if (connection !== 0 || expiry === neverExpires) return Number.POSITIVE_INFINITY;
  return endedAt + expiry * micros;
}

/** Whether a message's time is over. */
export function isExpired(
  { properties, at }: Pick<SessionMessage, "properties" | "at">,
  nowMicros: number,
): boolean {
  const expiry = properties?.messageExpiryInterval;
  return expiry !== undefined && nowMicros >= at + expiry * micros;
}
