/** The broker that is already there, and who we are to it. */
export interface BrokerSettings {
  readonly host: string;
  readonly port: number;
  /** Null: without TLS. PEM texts; `ca` null: the authorities that Node knows. */
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: string | null;
  } | null;
  readonly username: string | null;
  readonly password: string | null;
  /** The same at each start, and of no other process: the broker keeps for it what is not acknowledged. */
  readonly clientID: string;
  /** Whether other processes take a share of the messages; null: none come here, the connection is for what is sent. */
  readonly shared: boolean | null;
}

/** Messages of QoS 1 that the broker may have sent us and not seen acknowledged. */
export const brokerReceiveMaximum = 2000;

/**
 * Messages that it may send again. Mosquitto counts anew with each connection that takes up a session: after several
 * without an acknowledgement it has as many times `receiveMaximum` open.
 */
export const openMax = 5 * brokerReceiveMaximum;

/**
 * Far more than a message that is taken: a message between the two is refused by us and counted; the broker would drop
 * it without a word [MQTT-3.1.2-25].
 */
export const packetBytesMax = 16 * 1024 * 1024;

/** Seconds that the broker keeps our session while we are away. */
export const sessionExpiry = 7 * 86_400;

/** Seconds. */
export const keepAlive = 30;
