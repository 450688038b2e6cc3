import type { MessageProperties, Subscription, Will } from "./message.js";
import type { PlatformSubscription } from "./platform-subscriptions.js";

/**
 * What records of sessions say beside their fixed fields, as JSON text (members are short: there are many records).
 * A payload stays outside: it is the record's own.
 */

interface MessageExtra {
  readonly p?: WrittenProperties;
  /** It is the will of the record's connection. */
  readonly will?: true;
  /** It is a command: the record id of its control log. */
  readonly c?: number;
}

interface RecipientsExtra {
  readonly p?: WrittenProperties;
  /** Devices, each with the record id of its control log. */
  readonly to: readonly (readonly [device: number, receipt: number | null])[];
}

interface ConnectExtra {
  readonly d: string;
  /** Session expiry, seconds. */
  readonly e: number;
  readonly w?: {
    readonly t: string;
    readonly q: 0 | 1 | 2;
    readonly r: boolean;
    readonly d: number;
  } & MessageExtra;
}

interface SubscribeExtra {
  /** Retain handling and identifier. */
  readonly h: 0 | 1 | 2;
  readonly i: number | null;
}

type WrittenProperties = Omit<MessageProperties, "correlationData"> & { readonly correlationData?: string };

/** Null where there is nothing to say: nearly always. */
export function messageExtra(
  properties: MessageProperties | null,
  { isWill = false, receipt = null }: { isWill?: boolean; receipt?: number | null } = {},
): Uint8Array | null {
  if (properties === null && !isWill && receipt === null) return null;
  return written({
    ...ofProperties(properties),
    ...(isWill ? { will: true } : {}),
    ...(receipt === null ? {} : { c: receipt }),
  } satisfies MessageExtra);
}

export function readMessageExtra(extra: Uint8Array | null): {
  readonly properties: MessageProperties | null;
  readonly isWill: boolean;
  readonly receipt: number | null;
} {
  if (extra === null) return { properties: null, isWill: false, receipt: null };
  const { p, will, c: receipt = null } = parsed<MessageExtra>(extra);
  return { properties: properties(p), isWill: will === true, receipt };
}

export function connectExtra(deviceID: string, expiry: number, will: Will | null): Uint8Array {
  const said: ConnectExtra = { d: deviceID, e: expiry };
  if (will === null) return written(said);
  const { topic: t, qos: q, retain: r, delay: d } = will;
  return written({ ...said, w: { t, q, r, d, ...ofProperties(will.properties) } } satisfies ConnectExtra);
}

/** To whom one message of ours goes. */
export function recipientsExtra(
  properties: MessageProperties | null,
  to: readonly { readonly device: number; readonly receipt: number | null }[],
): Uint8Array {
  const recipients = to.map(({ device, receipt }) => [device, receipt] as const);
  return written({ ...ofProperties(properties), to: recipients } satisfies RecipientsExtra);
}

export function readRecipientsExtra(extra: Uint8Array | null): {
  readonly properties: MessageProperties | null;
  readonly to: RecipientsExtra["to"];
} {
  if (extra === null) return { properties: null, to: [] };
  const { p, to } = parsed<RecipientsExtra>(extra);
  return { properties: properties(p), to };
}

/** `payload` is the record's: the will's. */
export function readConnectExtra(
  extra: Uint8Array,
  payload: Uint8Array,
): { readonly deviceID: string; readonly expiry: number; readonly will: Will | null } {
  const { d: deviceID, e: expiry, w } = parsed<ConnectExtra>(extra);
  if (w === undefined) return { deviceID, expiry, will: null };
  const { t: topic, q: qos, r: retain, d: delay } = w;
  const will = { topic, payload: Uint8Array.from(payload), qos, retain, delay, properties: properties(w.p) };
  return { deviceID, expiry, will };
}

export function subscribeExtra({ retainHandling, identifier }: Subscription): Uint8Array | null {
  if (retainHandling === 0 && identifier === null) return null;
  return written({ h: retainHandling, i: identifier } satisfies SubscribeExtra);
}

export function readSubscribeExtra(
  extra: Uint8Array | null,
): Pick<Subscription, "retainHandling" | "identifier"> {
  if (extra === null) return { retainHandling: 0, identifier: null };
  const { h, i } = parsed<SubscribeExtra>(extra);
  return { retainHandling: h, identifier: i };
}

/** What the platform subscribes a session to. */
export function platformExtra(wanted: readonly PlatformSubscription[]): Uint8Array {
  return written(wanted.map(({ topic, qos }) => ({ topic, qos })));
}

export function readPlatformExtra(extra: Uint8Array | null): readonly PlatformSubscription[] {
  return extra === null ? [] : parsed<PlatformSubscription[]>(extra);
}

/** What a disconnect record may say. */
interface DisconnectExtra {
  /** Session expiry that DISCONNECT brought, seconds; null: none. */
  readonly expiry: number | null;
  /** When it was, where the record is written later, microseconds since 1970. */
  readonly endedAt: number | null;
}

const noDisconnectExtra: DisconnectExtra = { expiry: null, endedAt: null };

export function disconnectExtra(said: DisconnectExtra): Uint8Array | null {
  return said.expiry === null && said.endedAt === null ? null : written(said);
}

export function readDisconnectExtra(extra: Uint8Array | null): DisconnectExtra {
  return extra === null ? noDisconnectExtra : parsed<DisconnectExtra>(extra);
}

export function writeProperties(from: MessageProperties): WrittenProperties {
  const { correlationData, ...rest } = from;
  if (correlationData === undefined) return rest;
  return { ...rest, correlationData: Buffer.from(correlationData).toString("base64") };
}

export function readProperties({ correlationData, ...rest }: WrittenProperties): MessageProperties {
  if (correlationData === undefined) return rest;
  return { ...rest, correlationData: Buffer.from(correlationData, "base64") };
}

function ofProperties(from: MessageProperties | null): { p?: WrittenProperties } {
  return from === null ? {} : { p: writeProperties(from) };
}

function properties(from: WrittenProperties | undefined): MessageProperties | null {
  return from === undefined ? null : readProperties(from);
}

function written(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function parsed<Value>(bytes: Uint8Array): Value {
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as Value;
}
