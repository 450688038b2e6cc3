import type { Stored } from "./frame.js";
import type { PlatformSubscription } from "./message.js";
import type {
  ConnectDetails,
  DisconnectDetails,
  DownlinkDetails,
  DownlinksDetails,
  Encoded,
  EntryDetails,
  InboxDetails,
  SubscribeDetails,
  UplinkDetails,
} from "./record-details.js";
import { recordKinds } from "./record-kinds.js";

/** Fields of every record. */
interface OfDevice {
  readonly tenant: number;
  /** Record id of the device or gateway. */
  readonly device: number;
  /** Empty if no connection caused the record. */
  readonly ip: string;
}

/** A record about a session of the device. */
interface OfSession extends OfDevice {
  /** Journal id of its connection's connect record; 0 if the protocol has no connections, or there is none now. */
  readonly connection: number;
  /** Hash of the client id: with the device it names the session. */
  readonly session: number;
}

/** A message of a device. */
export interface UplinkRecord extends OfSession {
  readonly kind: typeof recordKinds.uplink;
  /** Packet identifier; 0 at QoS 0. */
  readonly messageID: number;
  readonly qos: number;
  readonly dup: boolean;
  readonly retain: boolean;
  /** Refused by a policy: it is an event and nothing more. */
  readonly refused: boolean;
  readonly topic: string;
  readonly details: Encoded<UplinkDetails> | null;
  readonly payload: Uint8Array;
}

/** A CONNECT that was accepted. The record's own id identifies the connection. */
export interface Connect extends OfDevice {
  readonly kind: typeof recordKinds.connect;
  readonly session: number;
  readonly clientID: string;
  /** Seconds. */
  readonly keepAlive: number;
  readonly cleanStart: boolean;
  /** Null in records of the first version: they only say whether the session is clean. */
  readonly details: Encoded<ConnectDetails> | null;
  /** Payload of the will, empty without one. */
  readonly payload: Uint8Array;
}

/** The end of a connection. */
export interface Disconnect extends OfSession {
  readonly kind: typeof recordKinds.disconnect;
  /** Seconds. */
  readonly keepAlive: number;
  /** Ended by DISCONNECT: no will is published. */
  readonly orderly: boolean;
  readonly reason: string;
  readonly details: Encoded<DisconnectDetails> | null;
}

/** A refused CONNECT of a known device. */
export interface Denial extends OfDevice {
  readonly kind: typeof recordKinds.denial;
  readonly session: number;
  readonly clientID: string;
  /** Seconds. */
  readonly keepAlive: number;
}

/** One filter of a SUBSCRIBE. */
export interface Subscribe extends OfSession {
  readonly kind: typeof recordKinds.subscribe;
  readonly filter: string;
  readonly qos: 0 | 1 | 2;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly details: Encoded<SubscribeDetails> | null;
}

/** One filter of an UNSUBSCRIBE. */
export interface Unsubscribe extends OfSession {
  readonly kind: typeof recordKinds.unsubscribe;
  readonly filter: string;
}

/** The subscriptions that the platform makes for the session, from now on. */
export interface Platform extends OfSession {
  readonly kind: typeof recordKinds.platform;
  readonly details: Encoded<readonly PlatformSubscription[]> | null;
}

/** PUBREL of a message from a client. */
export interface Release extends OfSession {
  readonly kind: typeof recordKinds.release;
  readonly messageID: number;
}

/** PUBREC of a message to a client. */
export interface ReceivedRecord extends OfSession {
  readonly kind: typeof recordKinds.received;
  readonly messageID: number;
}

/** The end of a message to a client. */
export interface Delivered extends OfSession {
  readonly kind: typeof recordKinds.delivered;
  readonly messageID: number;
  /** Whether PUBACK or PUBCOMP came; otherwise the message is given up. */
  readonly acknowledged: boolean;
}

/** A message from us to one device's sessions. */
export interface Downlink {
  readonly kind: typeof recordKinds.downlink;
  readonly tenant: number;
  readonly device: number;
  readonly qos: number;
  readonly topic: string;
  readonly details: Encoded<DownlinkDetails> | null;
  readonly payload: Uint8Array;
}

/** One message from us to sessions of several devices; the details name them, and `device` is 0. */
export interface DownlinksRecord extends Omit<Downlink, "kind" | "details"> {
  readonly kind: typeof recordKinds.downlinks;
  readonly details: Encoded<DownlinksDetails> | null;
}

/** A session that waits for a device of a protocol without lasting connections, before the device first comes. */
export interface Inbox extends OfDevice {
  readonly kind: typeof recordKinds.inbox;
  readonly session: number;
  readonly clientID: string;
  readonly details: Encoded<InboxDetails> | null;
}

/** A session that a person has ended, with all that waits in it; its connection, if any, has ended before. */
export interface SessionEnd extends OfDevice {
  readonly kind: typeof recordKinds.sessionEnd;
  readonly session: number;
  readonly clientID: string;
}

/** Every line of a batch of messages has been taken or refused. */
export interface BatchEnd extends OfSession {
  readonly kind: typeof recordKinds.batch;
  /** As its sender named it. */
  readonly batchID: string;
  /** Lines that were refused for good, at most 65,535. */
  readonly refusedLines: number;
}

/** Fields that records about an envelope share with it; their receipt and stamp are the envelope's. */
interface OfEnvelope extends OfDevice {
  /** Journal id of the envelope. */
  readonly envelope: number;
  readonly topic: string;
  readonly receivedAt: number;
  readonly stamp: number;
}

/** An entry of an envelope: a message of the device that it concerns. */
export interface EntryRecord extends OfEnvelope {
  readonly kind: typeof recordKinds.entry;
  /** Its place among the entries of the envelope, from 0 to 65,535. */
  readonly ordinal: number;
  /** Null: none of its data points is replaced, or an older version wrote the record. */
  readonly details: Encoded<EntryDetails> | null;
  readonly payload: Uint8Array;
}

/** Every entry of an envelope has been written. */
export interface Expanded extends OfEnvelope {
  readonly kind: typeof recordKinds.expanded;
  /** Entries that were refused, at most 65,535. */
  readonly refusedEntries: number;
}

/**
 * A part of the file that holds the sessions as they were at `savedID`. With the records after that id, all parts
 * together replace what came before: a process that opens the journal on another machine has only what is left of it.
 */
export interface SnapshotPart {
  readonly kind: typeof recordKinds.snapshotPart;
  /** No one's: 0. */
  readonly tenant: number;
  readonly device: number;
  readonly savedID: number;
  /** Its place among the parts, from 0 to 65,535. */
  readonly part: number;
  readonly isLast: boolean;
  readonly payload: Uint8Array;
}

/** A record as the writer receives it; the journal adds id, receipt time and stamp. */
export type JournalInput =
  | UplinkRecord
  | Connect
  | Disconnect
  | Denial
  | Subscribe
  | Unsubscribe
  | Platform
  | Release
  | ReceivedRecord
  | Delivered
  | Downlink
  | DownlinksRecord
  | Inbox
  | SessionEnd
  | BatchEnd
  | EntryRecord
  | Expanded
  | SnapshotPart;

/** A record as it is read: `JournalRecord<Uplink>` is an uplink's. */
export type JournalRecord<Input extends JournalInput = JournalInput> = Input extends JournalInput
  ? Input & Stored
  : never;

/** A message of a device, either an uplink or an entry of an envelope. */
export type MessageRecord = JournalRecord<UplinkRecord | EntryRecord>;

export function isMessage(record: JournalRecord): record is MessageRecord {
  return record.kind === recordKinds.uplink || record.kind === recordKinds.entry;
}

/**
 * Whether a policy has refused the message, so that it is an event and nothing more. Entries of an envelope are never
 * checked.
 */
export function isRefused(record: MessageRecord): boolean {
  return record.kind === recordKinds.uplink && record.refused;
}

/** A connection's start or end, or its refusal. */
export type ConnectionRecord = JournalRecord<Connect | Disconnect | Denial>;

export function isOfConnection(record: JournalRecord): record is ConnectionRecord {
  const { kind } = record;
  return kind === recordKinds.connect || kind === recordKinds.disconnect || kind === recordKinds.denial;
}

/** The id of the record's connection, which is that of its connect record; 0 if it concerns none. */
export function findConnectionID(record: JournalRecord): number {
  if (record.kind === recordKinds.connect) return record.id;
  return "connection" in record ? record.connection : 0;
}
