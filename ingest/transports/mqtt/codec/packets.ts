import type { MessageProperties, MqttSubscription, Will } from "../../../../store/journal/message.js";

/** MQTT 3.1, 3.1.1 and 5 by their protocol levels. */
export type MqttVersion = 3 | 4 | 5;

export type Qos = 0 | 1 | 2;

/** What a client allows us to send; below MQTT 5 it has no say. */
export interface Terms {
  readonly version: MqttVersion;
  /** Messages of QoS 1 and 2 in flight to the client. */
  readonly receiveMaximum: number;
  /** Most bytes of a whole packet, fixed header included. */
  readonly packetBytesMax: number;
  /** Topic aliases that we may use; 0 = none. */
  readonly topicAliasMax: number;
  /** Whether reason strings may go with every answer. */
  readonly problemInformation: boolean;
}

/** CONNECT of any version in the words of MQTT 5. */
export interface ConnectRequest extends Terms {
  readonly clientID: string;
  /** The client left the choice of its id to us. */
  readonly assigned: boolean;
  /** Whatever an earlier session has left is to be forgotten. */
  readonly cleanStart: boolean;
  /** Seconds that the session outlives the connection; see message.ts for 0 and the highest value. */
  readonly sessionExpiry: number;
  /** Seconds; 0 = none. */
  readonly keepAlive: number;
  readonly will: Will | null;
  readonly username: string | undefined;
  readonly token: string | undefined;
}

export interface PublishPacket {
  readonly cmd: "publish";
  /** Empty if an alias stands for it. */
  readonly topic: string;
  /** 0 = none. */
  readonly alias: number;
  readonly payload: Buffer;
  readonly qos: Qos;
  readonly dup: boolean;
  readonly retain: boolean;
  /** 0 at QoS 0. */
  readonly messageID: number;
  readonly properties: MessageProperties | null;
  /** The part that is larger than a message may have; null: none. */
  readonly excess: "payload" | "properties" | null;
}

export interface AckPacket {
  readonly cmd: "puback" | "pubrec" | "pubrel" | "pubcomp";
  readonly messageID: number;
  readonly code: number;
}

export interface SubscribePacket {
  readonly cmd: "subscribe";
  readonly messageID: number;
  readonly filters: readonly { readonly filter: string; readonly options: MqttSubscription }[];
}

export interface UnsubscribePacket {
  readonly cmd: "unsubscribe";
  readonly messageID: number;
  readonly filters: readonly string[];
}

export interface DisconnectPacket {
  readonly cmd: "disconnect";
  readonly code: number;
  /** Null if that of CONNECT stands. */
  readonly sessionExpiry: number | null;
}

/** What a client may send once it is connected. */
export type ClientPacket =
  | PublishPacket
  | AckPacket
  | SubscribePacket
  | UnsubscribePacket
  | DisconnectPacket
  | { readonly cmd: "pingreq" };
