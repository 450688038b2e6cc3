import type { HeldBytes } from "./held-bytes.js";

/** What the sessions of a device may hold. Anything beyond is counted and not taken. */

/** Sessions that one device may have, connected or not; the one longest away goes first. */
export const sessionsPerDeviceMax = 8;
export const subscriptionsMax = 1000;
/** Bytes of the messages that wait for one client; their number is a setting. */
export const outgoingBytesMax = 4 * 1024 * 1024;
/** Retained messages of one device, and their bytes. */
export const retainedMessagesMax = 1000;
export const retainedBytesMax = 1024 * 1024;

/** What deployments and tests choose. */
export interface SessionBounds {
  /** Messages that wait for one client, below the number of packet ids. */
  readonly outgoingMessagesMax: number;
  /** All that is held for clients of the process, bytes; tenants share it. */
  readonly heldBytesMax: number;
  /** Where it is counted, if sessions are kept in several places; without it they count for themselves. */
  readonly held?: HeldBytes;
}

export const sessionBounds: SessionBounds = {
  outgoingMessagesMax: 10_000,
  heldBytesMax: 256 * 1024 * 1024,
};

/** QoS 2 messages that a client may leave unreleased. */
export const unreleasedMax = 1000;
/** A longer session expiry is cut to this, seconds. */
export const sessionExpiryMax = 90 * 86_400;
