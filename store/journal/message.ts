/** What travels with a message beside its topic and payload (MQTT 5.0 §3.3.2.3); absent: the publisher said nothing. */
export interface MessageProperties {
  /** The payload is UTF-8 text. */
  readonly payloadFormatIndicator?: boolean;
  /** Seconds for which the message is of use. */
  readonly messageExpiryInterval?: number;
  readonly contentType?: string;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
  /** Name and value, in the publisher's order [MQTT-3.3.2-18]. */
  readonly userProperties?: readonly (readonly [string, string])[];
}

/** How a session wants what a topic filter covers (MQTT 5.0 §3.8.3.1); below 5.0 only the QoS is said. */
export interface Subscription {
  readonly qos: 0 | 1 | 2;
  /** Not what the same connection has published. */
  readonly noLocal: boolean;
  /** The retain flag is handed on as the publisher set it. */
  readonly retainAsPublished: boolean;
  /** Retained messages: 0 = at every SUBSCRIBE, 1 = at a new subscription, 2 = never. */
  readonly retainHandling: 0 | 1 | 2;
  /** Named in every message that this subscription brings; null = none. */
  readonly identifier: number | null;
}

/** A subscription that the platform makes for a device, whoever it was stored for: device, product or group. */
export interface PlatformSubscription {
  readonly topic: string;
  readonly qos: number;
}

/** A will (MQTT 5.0 §3.1.2.5): published for a connection that ends without saying goodbye. */
export interface Will {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Seconds between the end of the connection and the will. */
  readonly delay: number;
  readonly properties: MessageProperties | null;
}

/** `sessionExpiry` of a session that ends with its connection, and of one that never ends by itself, in seconds. */
export const endsWithConnection = 0;
export const neverExpires = 0xffff_ffff;
