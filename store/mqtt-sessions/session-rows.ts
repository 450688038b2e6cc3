/** The rows of the file of MQTT sessions. */

/** The device that a row belongs to. */
interface OfDevice {
  readonly tenant: number;
  readonly device: number;
  readonly deviceID: string;
}

export interface SessionRow extends OfDevice {
  readonly clientID: string;
  readonly session: number;
  readonly connection: number;
  readonly ip: string;
  readonly keepAlive: number;
  readonly endedAt: number;
  readonly expiry: number;
  readonly hasInbox: number;
  readonly lastMessageID: number;
  /** JSON texts. */
  readonly subscriptions: string;
  readonly platform: string | null;
  readonly unreleased: string;
  readonly will: string | null;
  readonly willPayload: Uint8Array | null;
}

export interface MessageRow {
  readonly device: number;
  readonly clientID: string;
  readonly messageID: number;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly retain: number;
  readonly properties: string | null;
  readonly identifiers: string;
  readonly at: number;
  readonly sent: number;
  readonly received: number;
  readonly receipt: number | null;
}

export interface RetainedRow extends OfDevice {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly properties: string | null;
  readonly at: number;
}

export interface WillRow extends OfDevice {
  readonly connection: number;
  readonly session: number;
  readonly clientID: string;
  readonly ip: string;
  readonly dueAt: number;
  readonly will: string;
  readonly willPayload: Uint8Array;
}

export interface SavedRows {
  readonly sessions: readonly SessionRow[];
  /** In order of arrival. */
  readonly messages: readonly MessageRow[];
  readonly retained: readonly RetainedRow[];
  readonly wills: readonly WillRow[];
}

/** Iterated once, piece by piece, while the state moves on: each row is as it was when the changes were gathered. */
export interface RowChanges {
  readonly sessions: Iterable<SessionRow>;
  readonly messages: Iterable<MessageRow>;
  readonly retained: Iterable<RetainedRow>;
  readonly wills: Iterable<WillRow>;
  /** Sessions that have ended; their messages go with them. */
  readonly endedSessions: Iterable<readonly [device: number, clientID: string]>;
  readonly endedMessages: Iterable<readonly [device: number, clientID: string, messageID: number]>;
  readonly endedRetained: Iterable<readonly [device: number, topic: string]>;
  readonly endedWills: Iterable<readonly [connection: number]>;
}
