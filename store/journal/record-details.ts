import type { MessageProperties, MqttSubscription, PlatformSubscription, Will } from "./message.js";
import { decodeProperties, type WrittenProperties, writeProperties } from "./properties.js";

/**
 * Details of some kinds of records besides their fixed fields, as JSON text with short member names, because there are
 * many records. Only a reader that needs them decodes them: nearly none does, and a detail that cannot be read fails
 * that reader alone.
 */
export type Encoded<Details> = Uint8Array & { readonly [decoded]?: Details };
declare const decoded: unique symbol;

export interface UplinkDetails {
  readonly properties: MessageProperties | null;
  /** Whether it is the will of the record's connection. */
  readonly isWill: boolean;
  /** When its sender says that it was sent, microseconds since 1970; null: nothing is said. */
  readonly sentAt: number | null;
  /** By which its repetition is recognised, of protocols whose ids are texts; null: it has none. */
  readonly key: string | null;
  /** The batch that it came in. */
  readonly batch: BatchLine | null;
}

/** A message's place in a batch, by which a repeated batch goes on where it was cut off. */
export interface BatchLine {
  readonly id: string;
  /** From 1. */
  readonly line: number;
}

export interface EntryDetails {
  /** Record ids of data points to which a later entry of the envelope brings a value at the same time. */
  readonly replaced: ReadonlySet<number>;
}

export interface DownlinkDetails {
  readonly properties: MessageProperties | null;
  /** For a command, the record id of its control log. */
  readonly receipt: number | null;
}

export interface DownlinksDetails {
  readonly properties: MessageProperties | null;
  readonly to: readonly Recipient[];
}

interface Recipient {
  readonly device: number;
  /** Record id of its control log. */
  readonly receipt: number | null;
}

export interface ConnectDetails {
  readonly deviceID: string;
  /** Session expiry, seconds. */
  readonly expiry: number;
  readonly will: Will | null;
}

export type InboxDetails = Pick<ConnectDetails, "deviceID" | "expiry">;

export interface DisconnectDetails {
  /** Session expiry that DISCONNECT brought, seconds, or null. */
  readonly expiry: number | null;
  /** When the connection ended if the record is written later, microseconds since 1970. */
  readonly endedAt: number | null;
}

export type SubscribeDetails = Pick<MqttSubscription, "retainHandling" | "identifier">;

interface WrittenMessage {
  readonly p?: WrittenProperties;
  readonly will?: true;
  /** The `sentAt`. */
  readonly s?: number;
  /** The `key`. */
  readonly k?: string;
  /** The `batch`. */
  readonly b?: readonly [id: string, line: number];
  /** The `receipt`. */
  readonly c?: number;
}

interface WrittenEntry {
  /** The `replaced`. */
  readonly r: readonly number[];
}

interface WrittenDownlinks {
  readonly p?: WrittenProperties;
  readonly to: readonly (readonly [device: number, receipt: number | null])[];
}

interface WrittenConnect {
  readonly d: string;
  readonly e: number;
  readonly w?: {
    readonly t: string;
    readonly q: 0 | 1 | 2;
    readonly r: boolean;
    readonly d: number;
    readonly p?: WrittenProperties;
  };
}

interface WrittenSubscribe {
  readonly h: 0 | 1 | 2;
  readonly i: number | null;
}

export const plainUplink: UplinkDetails = {
  properties: null,
  isWill: false,
  sentAt: null,
  key: null,
  batch: null,
};
const plainEntry: EntryDetails = { replaced: new Set() };
const plainDownlink: DownlinkDetails = { properties: null, receipt: null };
const plainDownlinks: DownlinksDetails = { properties: null, to: [] };
const plainDisconnect: DisconnectDetails = { expiry: null, endedAt: null };
const plainSubscribe: SubscribeDetails = { retainHandling: 0, identifier: null };

/** Null if there are no details, which is nearly always. */
export function encodeUplinkDetails(details: UplinkDetails): Encoded<UplinkDetails> | null {
  const { properties, isWill, sentAt, key, batch } = details;
  if (properties === null && !isWill && sentAt === null && key === null && batch === null) return null;
  return encode({
    ...ofProperties(properties),
    ...(isWill ? { will: true } : {}),
    ...(sentAt === null ? {} : { s: sentAt }),
    ...(key === null ? {} : { k: key }),
    ...(batch === null ? {} : { b: [batch.id, batch.line] }),
  } satisfies WrittenMessage);
}

export function decodeUplinkDetails(details: Encoded<UplinkDetails> | null): UplinkDetails {
  if (details === null) return plainUplink;
  const { p, will, s: sentAt = null, k: key = null, b } = decode<WrittenMessage>(details);
  const batch = b === undefined ? null : { id: b[0], line: b[1] };
  return { properties: readMaybe(p), isWill: will === true, sentAt, key, batch };
}

const sentAtKey = Buffer.from('"s":');

/**
 * Reads `sentAt` alone: a caller that needs only that must not fail at a property.
 * Within texts JSON escapes quotes, and no member of the properties has this name, so that the key stands once.
 */
export function readSentAt(details: Encoded<UplinkDetails> | null): number | null {
  if (details === null) return null;
  const bytes = Buffer.from(details.buffer, details.byteOffset, details.byteLength);
  const at = bytes.indexOf(sentAtKey);
  if (at < 0) return null;
  const digits = bytes.toString("latin1", at + sentAtKey.length, at + sentAtKey.length + sentAtCharactersMax);
  return Number.parseInt(digits, 10);
}

/** The most characters of a safe integer, with its sign. */
const sentAtCharactersMax = 17;

export function encodeDownlinkDetails({
  properties,
  receipt,
}: DownlinkDetails): Encoded<DownlinkDetails> | null {
  if (properties === null && receipt === null) return null;
  return encode({
    ...ofProperties(properties),
    ...(receipt === null ? {} : { c: receipt }),
  } satisfies WrittenMessage);
}

export function decodeDownlinkDetails(details: Encoded<DownlinkDetails> | null): DownlinkDetails {
  if (details === null) return plainDownlink;
  const { p, c: receipt = null } = decode<WrittenMessage>(details);
  return { properties: readMaybe(p), receipt };
}

export function encodeDownlinksDetails({ properties, to }: DownlinksDetails): Encoded<DownlinksDetails> {
  const recipients = to.map(({ device, receipt }) => [device, receipt] as const);
  return encode({ ...ofProperties(properties), to: recipients } satisfies WrittenDownlinks);
}

export function decodeDownlinksDetails(details: Encoded<DownlinksDetails> | null): DownlinksDetails {
  if (details === null) return plainDownlinks;
  const { p, to } = decode<WrittenDownlinks>(details);
  return { properties: readMaybe(p), to: to.map(([device, receipt]) => ({ device, receipt })) };
}

/** Leaves out the will's payload: it is the record's own payload. */
export function encodeConnectDetails({ deviceID, expiry, will }: ConnectDetails): Encoded<ConnectDetails> {
  const said: WrittenConnect = { d: deviceID, e: expiry };
  if (will === null) return encode(said);
  const { topic: t, qos: q, retain: r, delay: d } = will;
  return encode({ ...said, w: { t, q, r, d, ...ofProperties(will.properties) } } satisfies WrittenConnect);
}

/** `payload` is that of the record, and so of the will. */
export function decodeConnectDetails(details: Encoded<ConnectDetails>, payload: Uint8Array): ConnectDetails {
  const { d: deviceID, e: expiry, w } = decode<WrittenConnect>(details);
  if (w === undefined) return { deviceID, expiry, will: null };
  const { t: topic, q: qos, r: retain, d: delay } = w;
  const will = { topic, payload: Uint8Array.from(payload), qos, retain, delay, properties: readMaybe(w.p) };
  return { deviceID, expiry, will };
}

export function encodeInboxDetails(details: InboxDetails): Encoded<InboxDetails> {
  return encode(details);
}

/** @throws SyntaxError for details that are not as they were written */
export function decodeInboxDetails(details: Encoded<InboxDetails> | null): InboxDetails {
  return details === null ? { deviceID: "", expiry: 0 } : decode(details);
}

export function encodeDisconnectDetails(details: DisconnectDetails): Encoded<DisconnectDetails> | null {
  return details.expiry === null && details.endedAt === null ? null : encode(details);
}

export function decodeDisconnectDetails(details: Encoded<DisconnectDetails> | null): DisconnectDetails {
  return details === null ? plainDisconnect : decode(details);
}

export function encodeSubscribeDetails({
  retainHandling,
  identifier,
}: SubscribeDetails): Encoded<SubscribeDetails> | null {
  if (retainHandling === 0 && identifier === null) return null;
  return encode({ h: retainHandling, i: identifier } satisfies WrittenSubscribe);
}

export function decodeSubscribeDetails(details: Encoded<SubscribeDetails> | null): SubscribeDetails {
  if (details === null) return plainSubscribe;
  const { h, i } = decode<WrittenSubscribe>(details);
  return { retainHandling: h, identifier: i };
}

/** Null if no data point is replaced, which is nearly always. */
export function encodeEntryDetails({ replaced }: EntryDetails): Encoded<EntryDetails> | null {
  return replaced.size === 0 ? null : encode({ r: [...replaced] } satisfies WrittenEntry);
}

export function decodeEntryDetails(details: Encoded<EntryDetails> | null): EntryDetails {
  return details === null ? plainEntry : { replaced: new Set(decode<WrittenEntry>(details).r) };
}

type Wanted = readonly PlatformSubscription[];

export function encodePlatformDetails(wanted: Wanted): Encoded<Wanted> {
  return encode(wanted.map(({ topic, qos }) => ({ topic, qos })));
}

export function decodePlatformDetails(details: Encoded<Wanted> | null): Wanted {
  return details === null ? [] : decode(details);
}

function ofProperties(from: MessageProperties | null): { p?: WrittenProperties } {
  return from === null ? {} : { p: writeProperties(from) };
}

function readMaybe(from: WrittenProperties | undefined): MessageProperties | null {
  return from === undefined ? null : decodeProperties(from);
}

function encode(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function decode<Written>(bytes: Uint8Array): Written {
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as Written;
}
