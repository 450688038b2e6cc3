import type { MessageProperties, Will } from "../../store/journal/message.js";

/** A CONNECT that was accepted. */
export interface Connected {
  readonly tenant: number;
  readonly device: number;
  readonly deviceID: string;
  readonly clientID: string;
  readonly session: number;
  /** Journal id of its record. */
  readonly connection: number;
  /** Microseconds since 1970. */
  readonly at: number;
  readonly cleanStart: boolean;
  readonly expiry: number;
  readonly will: Will | null;
  readonly ip: string;
  /** Seconds. */
  readonly keepAlive: number;
}

/** A session for a client that has not come yet. */
export interface InboxOpened {
  readonly tenant: number;
  readonly device: number;
  readonly deviceID: string;
  readonly clientID: string;
  readonly session: number;
  /** Microseconds since 1970. */
  readonly at: number;
  /** Seconds. */
  readonly expiry: number;
}

/** A person has ended a session, after its connection. */
export interface SessionEnded {
  readonly device: number;
  readonly clientID: string;
  readonly session: number;
  /** Microseconds since 1970. */
  readonly at: number;
}

export interface Disconnected {
  readonly device: number;
  readonly connection: number;
  readonly at: number;
  /** The client said goodbye: there is no will. */
  readonly orderly: boolean;
  /** The session expiry that DISCONNECT brought; null: as at CONNECT. */
  readonly expiry: number | null;
  /** Another run held the connection: whatever was queued may have been sent. */
  readonly ofEarlierRun: boolean;
}

/** A message within a device's space, from one of its clients or from us. */
export interface Published {
  readonly device: number;
  /** Session of the publisher, or -1. */
  readonly session: number;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly retain: boolean;
  readonly properties: MessageProperties | null;
  readonly at: number;
  /** If the message is a command: record id of its control log. */
  readonly receipt?: number | null;
}

/** How many of a downlink's copies wait for an acknowledgement, and whether any was taken at all. */
export interface Reached {
  readonly sent: number;
  readonly awaited: number;
}
