import type { Duplex } from "node:stream";
import type { EndReason } from "../../../meter.js";
import {
  type ConnackProperties,
  connack,
  connackBelow5,
  encodeDisconnect,
} from "../codec/acknowledgements.js";
import type { ConnectRequest, MqttVersion, Terms } from "../codec/packets.js";
import { endings, mqttReasonCode } from "../codec/reasons.js";
import { topicAliasMaximum } from "../codec/topic-aliases.js";
import { receiveMaximum } from "./inbound.js";

const connackByte = 0x20;
/** Most bytes of a remaining length (§2.1.4). */
const lengthBytesMax = 4;
/** Up to its reason code. */
const acceptanceBytesMax = 1 + lengthBytesMax + 2;

/** The terms that are assumed until the client has sent its own. */
export function defaultTerms(version: MqttVersion): Terms {
  const unbounded = Number.POSITIVE_INFINITY;
  return {
    version,
    receiveMaximum: 0,
    packetBytesMax: unbounded,
    topicAliasMax: 0,
    problemInformation: true,
  };
}

/** Seconds; below MQTT 5 a client cannot be given another value than its own. */
export function agreedKeepAlive({ version, keepAlive }: ConnectRequest, most: number | null): number {
  if (version < 5 || most === null) return keepAlive;
  return keepAlive === 0 ? most : Math.min(keepAlive, most);
}

/** What CONNACK grants a client. */
interface Granted {
  /** Seconds. */
  readonly keepAlive: number;
  readonly sessionExpiry: number;
  /** The session goes on with what it held. */
  readonly present: boolean;
  /** Our Maximum Packet Size. */
  readonly packetBytesMax: number;
}

/** CONNACK that lets the client in, or null if it takes no packet of that size. */
export function acceptedConnack(request: ConnectRequest, granted: Granted): Buffer | null {
  const { version, assigned, clientID } = request;
  const { keepAlive, sessionExpiry, present, packetBytesMax } = granted;
  if (version < 5) return connackBelow5(version, mqttReasonCode.success, present);
  const properties: ConnackProperties = {
    receiveMaximum,
    maximumPacketSize: packetBytesMax,
    topicAliasMaximum,
    sharedSubscriptionAvailable: false,
    ...(assigned ? { assignedClientIdentifier: clientID } : {}),
    ...(keepAlive === request.keepAlive ? {} : { serverKeepAlive: keepAlive }),
    ...(sessionExpiry === request.sessionExpiry ? {} : { sessionExpiryInterval: sessionExpiry }),
  };
  return connack(request, mqttReasonCode.success, present, properties, "");
}

/** Whether these bytes begin with a CONNACK that lets the client in (MQTT 5.0 §3.2); null: they are too few. */
function acceptanceIn(bytes: Buffer): boolean | null {
  if (bytes.length > 0 && bytes[0] !== connackByte) return false;
  let at = 1;
  while (at < lengthBytesMax && ((bytes[at] ?? 0) & 0x80) !== 0) at++;
  const [, reason] = bytes.subarray(at + 1);
  return reason === undefined ? null : reason === 0;
}

/** Calls `then` once what comes on the stream has begun with such a CONNACK, in however many pieces. */
export function onAcceptance(stream: Duplex, then: () => void): void {
  let begun = Buffer.alloc(0);
  const judge = (piece: Buffer): void => {
    begun = Buffer.concat([begun, piece.subarray(0, acceptanceBytesMax)]);
    const isAccepted = acceptanceIn(begun);
    if (isAccepted === null) return;
    stream.off("data", judge);
    if (isAccepted) then();
  };
  stream.on("data", judge);
}

/** CONNACK with the reason for the refusal, or null if the client's version has no code for it. */
export function refusedConnack(terms: Terms, reason: EndReason, text: string): Buffer | null {
  const { returnCode, connack: reasonCode } = endings[reason];
  if (terms.version === 5) return reasonCode === null ? null : connack(terms, reasonCode, false, null, text);
  return returnCode === null ? null : connackBelow5(terms.version, returnCode, false);
}

/** DISCONNECT of ours, which only MQTT 5 knows. */
export function farewell(terms: Terms, reason: EndReason, text: string): Buffer | null {
  const reasonCode = endings[reason].disconnect;
  return terms.version < 5 || reasonCode === null ? null : encodeDisconnect(terms, reasonCode, text);
}
