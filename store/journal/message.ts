/**
 * Properties of a message besides its topic and payload (MQTT 5.0 §3.3.2.3); absent ones were not set by the publisher.
 */
export interface MessageProperties {
  /** The payload is UTF-8 text. */
  readonly payloadFormatIndicator?: boolean;
  /** Seconds for which the message is useful. */
  readonly messageExpiryInterval?: number;
  readonly contentType?: string;
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
  /** Name and value, in the publisher's order [MQTT-3.3.2-18]. */
  readonly userProperties?: readonly (readonly [string, string])[];
}

/** The options of a subscription to a topic filter (MQTT 5.0 §3.8.3.1); below 5.0 only the QoS is given. */
export interface MqttSubscription {
  readonly qos: 0 | 1 | 2;
  /** Leaves out messages that the same connection has published. */
  readonly noLocal: boolean;
  /** Hands on the retain flag as the publisher set it. */
  readonly retainAsPublished: boolean;
  /** Retained messages: 0 = at every SUBSCRIBE, 1 = at a new subscription, 2 = never. */
  readonly retainHandling: 0 | 1 | 2;
  /** Included in every message that this subscription brings, or null. */
  readonly identifier: number | null;
}

/** A subscription that the platform makes for a device, stored for the device itself, its product or a group. */
export interface PlatformSubscription {
  readonly topic: string;
  readonly qos: number;
}

/** A will (MQTT 5.0 §3.1.2.5): published if a connection ends without an orderly DISCONNECT. */
export interface Will {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Seconds between the end of the connection and the will. */
  readonly delay: number;
  readonly properties: MessageProperties | null;
}

/** Values of `sessionExpiry`, in seconds: the session ends with its connection, or never by itself. */
export const endsWithConnection = 0;
export const neverExpires = 0xffff_ffff;
