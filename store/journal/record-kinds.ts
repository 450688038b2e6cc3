/**
 * The kinds of journal records. Uplinks are events, a denial is a refused CONNECT; the others carry the state of
 * sessions.
 */
export const recordKinds = {
  uplink: 1,
  connect: 2,
  disconnect: 3,
  /** PUBREL of a message from a client. */
  release: 4,
  denial: 5,
  subscribe: 6,
  unsubscribe: 7,
  /** A message from us to one device's sessions. */
  downlink: 8,
  /** PUBREC of a message to a client. */
  received: 9,
  /** PUBACK or PUBCOMP of a message to a client, or word that the message is given up. */
  delivered: 10,
  /** The subscriptions that the platform makes for a session, from now on. */
  platform: 11,
  /** One message from us to sessions of several devices. */
  downlinks: 12,
  /** A session that waits for a client which has not come yet. */
  inbox: 13,
  /** Every line of a batch has been taken or refused. */
  batch: 14,
  /** An entry of an envelope: an event of the device that it concerns. */
  entry: 16,
  /** Every entry of an envelope has been written. */
  expanded: 17,
  /** A session that a person has ended. */
  sessionEnd: 18,
  /** A part of the saved form of all sessions. */
  snapshotPart: 19,
} as const;
export type RecordKind = (typeof recordKinds)[keyof typeof recordKinds];
