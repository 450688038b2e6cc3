import type { Stored } from "./frame.js";
import type { PlatformSubscription } from "./message.js";
import type {
  ConnectDetails,
  DisconnectDetails,
  DownlinkDetails,
  DownlinksDetails,
  Encoded,
  SubscribeDetails,
  UplinkDetails,
} from "./record-details.js";
import { recordKinds } from "./record-kinds.js";

/** What every record says. */
interface OfDevice {
  readonly tenant: number;
  /** Record id of the device or gateway. */
  readonly device: number;
  /** Empty where no connection brought it about. */
  readonly ip: string;
}

/** A record that speaks of a session of the device. */
interface OfSession extends OfDevice {
  /** Journal id of the connect record of its connection; 0 where the protocol has no connections, or there is none. */
  readonly connection: number;
  /** Hash of the client id: with the device it names the session. */
  readonly session: number;
}

/** A message of a device. */
export interface Uplink extends OfSession {
  readonly kind: typeof recordKinds.uplink;
  /** Packet identifier; 0 at QoS 0. */
  readonly messageID: number;
  readonly qos: number;
  readonly dup: boolean;
  readonly retain: boolean;
  /** By a policy: it is an event and nothing more. */
  readonly refused: boolean;
  readonly topic: string;
  readonly details: Encoded<UplinkDetails> | null;
  readonly payload: Uint8Array;
}

/** A CONNECT that was let in. Its connection is numbered by the record's own id. */
export interface Connect extends OfDevice {
  readonly kind: typeof recordKinds.connect;
  readonly session: number;
  readonly clientID: string;
  /** Seconds. */
  readonly keepAlive: number;
  readonly cleanStart: boolean;
  /** Null in those that the first version wrote: they say no more than whether the session is clean. */
  readonly details: Encoded<ConnectDetails> | null;
  /** Payload of the will, empty without one. */
  readonly payload: Uint8Array;
}

/** The end of a connection. */
export interface Disconnect extends OfSession {
  readonly kind: typeof recordKinds.disconnect;
  /** Seconds. */
  readonly keepAlive: number;
  /** By DISCONNECT: no will is published. */
  readonly orderly: boolean;
  readonly reason: string;
  readonly details: Encoded<DisconnectDetails> | null;
}

/** A CONNECT of a known device that was refused. */
export interface Denial extends OfDevice {
  readonly kind: typeof recordKinds.denial;
  readonly session: number;
  readonly clientID: string;
  /** Seconds. */
  readonly keepAlive: number;
}

/** A filter of a SUBSCRIBE. */
export interface Subscribe extends OfSession {
  readonly kind: typeof recordKinds.subscribe;
  readonly filter: string;
  readonly qos: 0 | 1 | 2;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly details: Encoded<SubscribeDetails> | null;
}

/** A filter of an UNSUBSCRIBE. */
export interface Unsubscribe extends OfSession {
  readonly kind: typeof recordKinds.unsubscribe;
  readonly filter: string;
}

/** What the platform subscribes the session to, from now on. */
export interface Platform extends OfSession {
  readonly kind: typeof recordKinds.platform;
  readonly details: Encoded<readonly PlatformSubscription[]> | null;
}

/** PUBREL of a message that came up. */
export interface Release extends OfSession {
  readonly kind: typeof recordKinds.release;
  readonly messageID: number;
}

/** PUBREC of a message that went down. */
export interface Received extends OfSession {
  readonly kind: typeof recordKinds.received;
  readonly messageID: number;
}

/** The end of a message that went down. */
export interface Delivered extends OfSession {
  readonly kind: typeof recordKinds.delivered;
  readonly messageID: number;
  /** By PUBACK or PUBCOMP; otherwise it is given up. */
  readonly acknowledged: boolean;
}

/** A message of ours to one device's sessions. */
export interface Downlink {
  readonly kind: typeof recordKinds.downlink;
  readonly tenant: number;
  readonly device: number;
  readonly qos: number;
  readonly topic: string;
  readonly details: Encoded<DownlinkDetails> | null;
  readonly payload: Uint8Array;
}

/** The same message of ours to sessions of several devices; the details name them, and `device` is 0. */
export interface Downlinks extends Omit<Downlink, "kind" | "details"> {
  readonly kind: typeof recordKinds.downlinks;
  readonly details: Encoded<DownlinksDetails> | null;
}

/** What records about an envelope say as the envelope does; their receipt and stamp are the envelope's. */
interface OfEnvelope extends OfDevice {
  /** Journal id of the envelope. */
  readonly envelope: number;
  readonly topic: string;
  readonly receivedAt: number;
  readonly stamp: number;
}

/** An entry of an envelope: a message of the device that it speaks of. */
export interface Entry extends OfEnvelope {
  readonly kind: typeof recordKinds.entry;
  /** Its place among the entries of the envelope, from 0 to 65,535. */
  readonly ordinal: number;
  readonly payload: Uint8Array;
}

/** Every entry of an envelope has been written. */
export interface Expanded extends OfEnvelope {
  readonly kind: typeof recordKinds.expanded;
  /** Entries that were refused, at most 65,535. */
  readonly refusedEntries: number;
}

/** What the writer is given; the journal adds id, receipt time and stamp. */
export type JournalInput =
  | Uplink
  | Connect
  | Disconnect
  | Denial
  | Subscribe
  | Unsubscribe
  | Platform
  | Release
  | Received
  | Delivered
  | Downlink
  | Downlinks
  | Entry
  | Expanded;

/** A record as it is read: `JournalRecord<Uplink>` is that of an uplink. */
export type JournalRecord<Input extends JournalInput = JournalInput> = Input extends JournalInput
  ? Input & Stored
  : never;

/** A message of a device, as itself or as an entry of an envelope. */
export type MessageRecord = JournalRecord<Uplink | Entry>;

export function isMessage(record: JournalRecord): record is MessageRecord {
  return record.kind === recordKinds.uplink || record.kind === recordKinds.entry;
}

/** Whether a policy has refused the message: it is an event and nothing more. Entries of an envelope are never asked. */
export function isRefused(record: MessageRecord): boolean {
  return record.kind === recordKinds.uplink && record.refused;
}

/** What becomes of a connection: come, gone, refused. */
export type ConnectionRecord = JournalRecord<Connect | Disconnect | Denial>;

export function isOfConnection(record: JournalRecord): record is ConnectionRecord {
  const { kind } = record;
  return kind === recordKinds.connect || kind === recordKinds.disconnect || kind === recordKinds.denial;
}

/** A connection is numbered by its connect record; 0 where a record speaks of none. */
export function connectionOf(record: JournalRecord): number {
  if (record.kind === recordKinds.connect) return record.id;
  return "connection" in record ? record.connection : 0;
}
